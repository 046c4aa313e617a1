/// Addresses that share their first bits.
private struct Network {
    let start: IPAddress
    let bits: Int

    /// - Parameter text: Such as `10.0.0.0/8`.
    init(_ text: String) {
        let parts = text.split(separator: "/")
        guard parts.count == 2, let start = IPAddress(host: String(parts[0])), let bits = Int(parts[1]) else {
            preconditionFailure("\(text) is not a network such as 10.0.0.0/8")
        }
        (self.start, self.bits) = (start, bits)
    }

    func contains(_ address: IPAddress) -> Bool {
        guard address.bytes.count == start.bytes.count else { return false }
        return zip(address.bytes, start.bytes).enumerated().allSatisfy { index, pair in
            let kept = min(max(bits - index * 8, 0), 8)
            return (pair.0 ^ pair.1) >> (8 - kept) == 0
        }
    }
}

extension IPAddress {
    /// Whether the address is on the public Internet. The addresses of the machine, the site and the carrier are not
    /// public, and neither are the ranges for examples, multicast and future use. `169.254.169.254`, where clouds give
    /// machines their keys, is not public either.
    var isPublic: Bool {
        !Self.reserved.contains { $0.contains(self) } && embedded?.isPublic ?? true
    }

    // IANA IPv4 and IPv6 Special-Purpose Address Registries; RFC 5771; RFC 4291, sections 2.5.7 and 2.7.
    private static let reserved = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",
        "240.0.0.0/4",
        "64:ff9b:1::/48", "100::/64", "2001::/32", "2001:db8::/32", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10",
        "fec0::/10", "ff00::/8",
    ].map(Network.init)

    /// The IPv4 address that this IPv6 address contains, to which packets would go.
    private var embedded: IPAddress? {
        if Self.mapped.contains(where: { $0.contains(self) }) { return IPAddress(bytes.suffix(4)) }
        return Self.sixToFour.contains(self) ? IPAddress(bytes[2..<6]) : nil
    }

    // RFC 4291, section 2.5.5 (`::/96` also contains `::` and `::1`); RFC 2765; RFC 6052; RFC 3056.
    private static let mapped = ["::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96"].map(Network.init)
    private static let sixToFour = Network("2002::/16")
}
