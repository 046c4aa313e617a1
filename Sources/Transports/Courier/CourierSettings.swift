import PipelineKit
import Time

/// Settings of ``CourierTransport``.
package struct CourierSettings: PluginSettings {
    /// The address that clients connect to.
    package let host: String
    /// 0: any free port.
    package let port: Int
    /// The SQLite file; nil: beside the stage's log.
    package let store: String?
    /// How long a notification is kept.
    package let keep: Duration
    /// How many notifications of one user are kept.
    package let keepPerUser: Int
    /// How long a poll is held.
    package let pollTimeout: Duration
    /// The origins of web pages that may ask, as browsers write them: `https://app.example.com`; `*` is all.
    package let origins: [String]
    /// Nil: the courier speaks plain HTTP.
    let tls: CourierTLS?

    package static let fileKeys: Set<String> = ["certificate"]

    package init(from settings: inout SettingsReader) throws(SettingsError) {
        (host, port) = try Self.listen(&settings)
        // Also read if it is not needed, so that it may stay in the file when the address changes.
        let isBehindTLS = try settings.boolean("behindTLS", default: false)
        tls = try CourierTLS(&settings)
        guard
            isBehindTLS || tls != nil || settings.isExcused("certificate") || settings.isExcused("key")
                || Loopback.has(host)
        else {
            throw settings.fail(
                "listen", "other machines reach \(host), and the courier does not encrypt what it sends",
                hint: "give it a `certificate` and its `key`, or put TLS in front of it and say `behindTLS: true`, or "
                    + "listen on 127.0.0.1")
        }
        store = try settings.optionalPath("store")
        keep = try settings.duration(
            "keep", default: .seconds(30 * 86_400), in: .seconds(60)...(.seconds(3650 * 86_400)))
        keepPerUser = try settings.integer("keepPerUser", default: 1000, in: 1...1_000_000)
        pollTimeout = try settings.duration(
            "pollTimeout", default: .seconds(60), in: .milliseconds(100)...(.seconds(3600)))
        origins = try Self.origins(&settings)
    }

    package func secretErrors() -> [any Error] {
        guard let tls, tls.key.isReadable else { return [] }
        do throws(TransportError) { _ = try tls.open() } catch { return [error] }
        return []
    }

    package func endingCertificates(at now: Instant) -> [EndingCertificate] {
        [tls?.endingCertificate(at: now)].compactMap(\.self)
    }

    /// Whether everything except the certificate and its key is the same.
    func hasSameRest(as other: CourierSettings) -> Bool {
        (host, port, store, keep, keepPerUser, pollTimeout)
            == (other.host, other.port, other.store, other.keep, other.keepPerUser, other.pollTimeout)
            && origins == other.origins && (tls == nil) == (other.tls == nil)
    }

    private static func listen(_ settings: inout SettingsReader) throws(SettingsError) -> (String, Int) {
        let text = try settings.string("listen", default: "127.0.0.1:7480")
        let colon = text.lastIndex(of: ":") ?? text.endIndex
        guard colon > text.startIndex, let port = UInt16(text[colon...].dropFirst()) else {
            throw settings.fail("listen", "expected HOST:PORT, found \(text)", hint: "write one like 127.0.0.1:7480")
        }
        return (text[..<colon].trimmingBrackets, Int(port))
    }

    private static func origins(_ settings: inout SettingsReader) throws(SettingsError) -> [String] {
        let origins = try settings.strings("origins")
        for origin in origins where !isOrigin(origin) {
            throw settings.fail(
                "origins", "\(origin) is no origin", hint: "write it as a browser does: https://app.example.com, or *")
        }
        return origins
    }

    // RFC 6454, section 6.2: scheme, "://", host and port; no path.
    private static func isOrigin(_ text: String) -> Bool {
        guard text != "*" else { return true }
        guard let scheme = ["https://", "http://"].first(where: text.hasPrefix) else { return false }
        let host = text.dropFirst(scheme.count)
        return !host.isEmpty && host.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "/") }
    }
}

extension Substring {
    /// `[::1]` is `::1`.
    fileprivate var trimmingBrackets: String {
        hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : String(self)
    }
}
