import CCurl
import Glibc

/// Opens the sockets of one request, where their peer may be reached: after names are resolved, proxies chosen and
/// redirects taken, so that none of these leads around it.
struct SocketDoor {
    let allowsPrivateNetworks: Bool
    private var refused: IPAddress?
    private var hasOpened = false

    init(allowsPrivateNetworks: Bool) { self.allowsPrivateNetworks = allowsPrivateNetworks }

    /// An address that was not to be reached, where no other was tried.
    var refusal: IPAddress? { hasOpened ? nil : refused }

    /// - Returns: `CURL_SOCKET_BAD` where the address is not to be reached.
    mutating func open(_ address: UnsafePointer<curl_sockaddr>) -> curl_socket_t {
        if !allowsPrivateNetworks, let peer = IPAddress(address), !peer.isPublic {
            refused = peer
            return CURL_SOCKET_BAD
        }
        hasOpened = true
        let (family, type) = (address.pointee.family, address.pointee.socktype | CInt(SOCK_CLOEXEC.rawValue))
        return socket(family, type, address.pointee.protocol)
    }
}
