import Glibc

/// The addresses that count as one client for the limit of failed attempts and for the share of long reads: an IPv4 address, or the /64 network of an
/// IPv6 address, because one customer of a provider may use every address of that network.
package struct ClientAddress: Hashable, Sendable {
    private let bytes: [UInt8]

    private static let networkBytes = 8
    /// RFC 4291, section 2.5.5.2: an IPv4 address in the form of IPv6.
    private static let mappedPrefix = [UInt8](repeating: 0, count: 10) + [0xff, 0xff]

    /// Ignores a port after the address, which some proxies add: `192.0.2.1:80`, `[2001:db8::1]:80`. A string that is not
    /// an address counts as a client of its own.
    package init(_ text: String) {
        let text = ClientAddress.withoutPort(text)
        if let address = ClientAddress.parse(text, AF_INET, byteCount: 4) {
            bytes = address
        } else if let address = ClientAddress.parse(text, AF_INET6, byteCount: 16) {
            let isMapped = address.starts(with: ClientAddress.mappedPrefix)
            bytes = Array(isMapped ? address.suffix(4) : address.prefix(ClientAddress.networkBytes))
        } else {
            bytes = Array(text.utf8)
        }
    }

    private static func withoutPort(_ text: String) -> String {
        if text.hasPrefix("[") { return String(text.dropFirst().prefix { $0 != "]" }) }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count == 2 ? String(parts[0]) : text
    }

    private static func parse(_ text: String, _ family: CInt, byteCount: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: byteCount)
        return inet_pton(family, text, &bytes) == 1 ? bytes : nil
    }
}
