import NIOCore

/// The addresses that count as one client for the limits on bodies and connections: an IPv4 address, or the /64
/// network of an IPv6 address, because one customer of a provider may use every address of that network.
struct ClientNetwork: Hashable {
    private let bytes: [UInt8]

    private static let networkBytes = 8
    /// RFC 4291, section 2.5.5.2: an IPv4 address in the form of IPv6.
    private static let mappedPrefix = [UInt8](repeating: 0, count: 10) + [0xff, 0xff]

    /// Nil for an address that is not of the Internet Protocol.
    init?(_ address: SocketAddress) {
        switch address {
        case .v4(let address): bytes = withUnsafeBytes(of: address.address.sin_addr) { Array($0) }
        case .v6(let address):
            let all = withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
            let isMapped = all.starts(with: Self.mappedPrefix)
            bytes = isMapped ? Array(all.suffix(4)) : Array(all.prefix(Self.networkBytes))
        case .unixDomainSocket: return nil
        }
    }
}
