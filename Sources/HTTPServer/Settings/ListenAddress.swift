import PipelineKit

/// Where a server listens: the setting `listen`, written `HOST:PORT`.
package struct ListenAddress: Hashable, Sendable, CustomStringConvertible {
    /// A name or an address. An IPv6 address has no brackets here.
    package let host: String
    /// 0 means any free port.
    package let port: Int

    init(host: String, port: Int) { (self.host, self.port) = (host, port) }

    /// - Parameter standard: The default, such as `127.0.0.1:7480`.
    package init(_ settings: inout SettingsReader, default standard: String) throws(SettingsError) {
        let text = try settings.string("listen", default: standard)
        let colon = text.lastIndex(of: ":") ?? text.endIndex
        guard colon > text.startIndex, let port = UInt16(text[colon...].dropFirst()) else {
            throw settings.fail("listen", "expected HOST:PORT, found \(text)", hint: "write one like \(standard)")
        }
        (host, self.port) = (text[..<colon].trimmingBrackets, Int(port))
    }

    /// Whether only programs on this machine can connect.
    package var isLoopback: Bool { Loopback.contains(host) }

    package var description: String { text(port: port) }

    /// `HOST:PORT`, with the port at which the server listens.
    package func text(port: Int) -> String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}

extension Substring {
    /// The text without the brackets around an IPv6 address: `[::1]` becomes `::1`.
    fileprivate var trimmingBrackets: String {
        hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : String(self)
    }
}
