import Foundation
import PipelineKit

/// Settings of ``WebhookTransport``.
public struct WebhookSettings: PluginSettings {
    /// Where pushes are posted.
    public let url: URL
    /// How long one attempt may take, its answer included.
    public let timeout: Duration
    /// How often a push is tried before it is given up.
    public let attempts: Int
    /// The wait before the second attempt; each further one doubles it, up to ``RetryPolicy/backoffMax``.
    public let backoff: Duration
    /// How many requests may be under way at a time.
    public let concurrency: Int
    /// Sent with each request, in the order of the file.
    public let headers: [(name: String, value: String)]

    public init(from settings: inout SettingsReader) throws(SettingsError) {
        url = try Self.url(&settings)
        timeout = try settings.duration("timeout", default: .seconds(10), in: .milliseconds(10)...(.seconds(300)))
        attempts = try settings.integer("attempts", default: 5, in: 1...100)
        backoff = try settings.duration(
            "backoff", default: .milliseconds(500), in: .milliseconds(1)...RetryPolicy.backoffMax)
        concurrency = try settings.integer("concurrency", default: 8, in: 1...1000)
        headers = try Self.headers(&settings)
    }

    private static func url(_ settings: inout SettingsReader) throws(SettingsError) -> URL {
        let text = try settings.string("url")
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme?.lowercased()),
            url.host()?.isEmpty == false
        else {
            throw settings.fail(
                "url", "expected an http or https URL, found \(text)", hint: "write one like https://example.com/pushes"
            )
        }
        guard url.user() == nil, url.password() == nil else {
            throw settings.fail("url", "names a user", hint: "send an authorization header: see headers")
        }
        return url
    }

    private static func headers(
        _ settings: inout SettingsReader
    ) throws(SettingsError) -> [(name: String, value: String)] {
        guard var reader = try settings.mapping("headers") else { return [] }
        var headers: [(name: String, value: String)] = []
        for name in reader.keys {
            guard !reserved.contains(name.lowercased()) else {
                throw reader.fail(name, "is set by the transport itself")
            }
            guard !name.isEmpty, name.utf8.allSatisfy(isTokenByte) else {
                throw reader.fail(name, "is no name of an HTTP header")
            }
            let value = try reader.string(name)
            guard value.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
                throw reader.fail(name, "holds more than printable ASCII")
            }
            headers.append((name, value))
        }
        return headers
    }

    private static let reserved: Set<String> = [
        "connection", "content-length", "content-type", "expect", "host", "transfer-encoding", "webhook-id",
    ]

    // RFC 9110, section 5.6.2: token.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
