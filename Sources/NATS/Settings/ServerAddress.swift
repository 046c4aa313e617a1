/// The address of a NATS server, such as `nats://n1.example.com:4222`.
package struct ServerAddress: Hashable, Sendable {
    /// A host name, or an IP address without brackets.
    package let host: String
    package let port: UInt16
    /// Whether the address requires TLS: it began with `tls://`.
    package let requiresTLS: Bool

    /// The port that NATS servers listen on by default.
    package static let standardPort: UInt16 = 4222
    private static let schemes = ["nats://", "tls://"]

    /// - Parameter text: `nats://HOST:PORT` or `tls://HOST:PORT`. Without a port, the port is 4222. An IPv6 address
    ///   stands in brackets.
    /// - Throws: ``NATSError/invalidServer(_:reason:)`` for any other text. The error does not repeat the user or
    ///   password of an address that contains them.
    package init(_ text: String) throws(NATSError) {
        guard let scheme = ServerAddress.schemes.first(where: text.hasPrefix) else {
            throw .invalidServer(ServerAddress.withoutUser(text), reason: "it does not begin with nats:// or tls://")
        }
        let rest = text.dropFirst(scheme.count)
        guard !rest.contains("@") else {
            throw .invalidServer(ServerAddress.withoutUser(text), reason: "it contains a user or a password")
        }
        guard let (host, port) = ServerAddress.split(rest) else {
            throw .invalidServer(text, reason: "expected \(scheme)HOST:PORT")
        }
        (self.host, self.port, requiresTLS) = (host, port, scheme == "tls://")
    }

    private static func split(_ text: Substring) -> (host: String, port: UInt16)? {
        let isBracketed = text.first == "["
        guard let end = isBracketed ? text.firstIndex(of: "]") : text.firstIndex(of: ":") ?? text.endIndex else {
            return nil
        }
        let host = isBracketed ? text[..<end].dropFirst() : text[..<end]
        let rest = isBracketed ? text[text.index(after: end)...] : text[end...]
        guard isHost(host, mayHaveColon: isBracketed), let port = port(rest) else { return nil }
        return (String(host), port)
    }

    private static func isHost(_ text: Substring, mayHaveColon: Bool) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."): true
                case UInt8(ascii: "_"): !mayHaveColon
                case UInt8(ascii: ":"), UInt8(ascii: "%"): mayHaveColon
                default: false
                }
            }
    }

    private static func port(_ text: Substring) -> UInt16? {
        guard let colon = text.first else { return standardPort }
        let digits = text.dropFirst()
        guard colon == ":", digits.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else { return nil }
        return UInt16(digits).flatMap { $0 > 0 ? $0 : nil }
    }

    /// Replaces everything between the scheme and the last `@`, because it may be a user and a password.
    private static func withoutUser(_ text: String) -> String {
        guard let end = text.lastIndex(of: "@") else { return text }
        let scheme = schemes.first(where: text.hasPrefix) ?? ""
        return scheme + "…" + text[end...]
    }
}

extension ServerAddress: CustomStringConvertible {
    package var description: String {
        (requiresTLS ? "tls://" : "nats://") + (host.contains(":") ? "[\(host)]" : host) + ":\(port)"
    }
}
