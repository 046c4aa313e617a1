import NIOCore

/// The addresses that count as one client for limits: an IPv4 address, or the /64 network of an IPv6 address, because
/// one customer of an access provider may use every address of that network.
package struct ClientNetwork: Hashable, Sendable {
    /// The same string for every address of one client.
    package let key: String

    private static let networkBytes = 8
    /// RFC 4291, section 2.5.5.2: an IPv4 address in the form of IPv6.
    private static let mappedPrefix = [UInt8](repeating: 0, count: 10) + [0xff, 0xff]

    /// Nil for an address that is not of the Internet Protocol.
    init?(_ address: SocketAddress) {
        let bytes: [UInt8]
        switch address {
        case .v4(let address): bytes = withUnsafeBytes(of: address.address.sin_addr) { Array($0) }
        case .v6(let address):
            let all = withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
            let isMapped = all.starts(with: Self.mappedPrefix)
            bytes = isMapped ? Array(all.suffix(4)) : Array(all.prefix(Self.networkBytes))
        case .unixDomainSocket: return nil
        }
        self.init(bytes: bytes)
    }

    /// Ignores a port after the address, which some proxies add: `192.0.2.1:80`, `[2001:db8::1]:80`. A string that is
    /// not an address counts as a client of its own.
    package init(_ text: String) {
        let address = Self.withoutPort(text)
        var parsed: ClientNetwork?
        do { parsed = ClientNetwork(try SocketAddress(ipAddress: address, port: 0)) } catch {}
        self = parsed ?? ClientNetwork(key: "text \(address)")
    }

    private init(key: String) { self.key = key }
    private init(bytes: [UInt8]) { self.init(key: bytes.map { String($0, radix: 16) }.joined(separator: ".")) }

    private static func withoutPort(_ text: String) -> String {
        if text.hasPrefix("[") { return String(text.dropFirst().prefix { $0 != "]" }) }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count == 2 ? String(parts[0]) : text
    }
}
