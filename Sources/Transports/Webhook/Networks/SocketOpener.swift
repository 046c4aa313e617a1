import CCurl
import Glibc

/// Opens the sockets of one request if their peer is allowed. libcurl asks after it has resolved names and chosen a proxy,
/// so neither can lead around this check.
struct SocketOpener {
    let allowsPrivateNetworks: Bool
    private var refused: IPAddress?
    private var hasOpened = false

    init(allowsPrivateNetworks: Bool) { self.allowsPrivateNetworks = allowsPrivateNetworks }

    /// An address that was refused; nil if another address was tried.
    var refusal: IPAddress? { hasOpened ? nil : refused }

    /// - Returns: `CURL_SOCKET_BAD` if the address is refused.
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
