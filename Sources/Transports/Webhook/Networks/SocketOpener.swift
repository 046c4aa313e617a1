import CCurl
import Glibc

/// Opens the sockets of one request if the address of the peer is allowed. libcurl asks for a socket after it has
/// resolved the host's name, so a name cannot hide a private address. The peer is never a proxy if private networks are
/// refused: see ``HTTPRules``.
struct SocketOpener {
    let allowsPrivateNetworks: Bool
    private var refused: IPAddress?
    private var hasAllowedAddress = false

    init(allowsPrivateNetworks: Bool) { self.allowsPrivateNetworks = allowsPrivateNetworks }

    /// The address that was refused last. Nil if no address was refused, or if another address was allowed.
    var refusal: IPAddress? { hasAllowedAddress ? nil : refused }

    /// - Returns: The new socket; `CURL_SOCKET_BAD` if the address is refused or the socket cannot be made.
    mutating func open(_ address: UnsafePointer<curl_sockaddr>) -> curl_socket_t {
        if !allowsPrivateNetworks, let peer = IPAddress(address), !peer.isPublic {
            refused = peer
            return CURL_SOCKET_BAD
        }
        hasAllowedAddress = true
        let (family, type) = (address.pointee.family, address.pointee.socktype | CInt(SOCK_CLOEXEC.rawValue))
        return socket(family, type, address.pointee.protocol)
    }
}
