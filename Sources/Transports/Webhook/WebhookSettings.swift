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
    /// What requests are signed with; empty: they are not.
    let secrets: [Secret]
    let rules: HTTPRules

    public init(from settings: inout SettingsReader) throws(SettingsError) {
        let networks = try settings.choice("privateNetworks", default: PrivateNetworks.refuse)
        rules = HTTPRules(allowsPrivateNetworks: networks == .allow, trust: try settings.optionalPath("trust"))
        url = try Self.url(&settings)
        timeout = try settings.duration("timeout", default: .seconds(10), in: .milliseconds(10)...(.seconds(300)))
        attempts = try settings.integer("attempts", default: 5, in: 1...100)
        backoff = try settings.duration(
            "backoff", default: .milliseconds(500), in: .milliseconds(1)...RetryPolicy.backoffMax)
        concurrency = try settings.integer("concurrency", default: 8, in: 1...1000)
        headers = try Self.headers(&settings)
        secrets = try settings.secrets("secret", countMax: Self.secretsMax)
        if networks == .refuse, !settings.isExcused("privateNetworks") { try Self.check(url, settings) }
    }

    public func checkSecrets() throws { _ = try WebhookSigner(secrets.filter(\.isReadable)) }

    private enum PrivateNetworks: String, CaseIterable { case refuse, allow }

    /// While receivers take over a new secret, the old one is signed with too.
    private static let secretsMax = 4

    /// What a name leads to is known only when it is used; numbers and `localhost` are known now.
    private static func check(_ url: URL, _ settings: SettingsReader) throws(SettingsError) {
        let host = url.host() ?? ""
        guard IPAddress(host: host).map({ !$0.isPublic }) ?? isLocalhost(host) else { return }
        throw settings.fail(
            "url", "\(host) is in a private network", hint: "write privateNetworks: allow beside it if that is meant")
    }

    // RFC 6761, section 6.3.
    private static func isLocalhost(_ host: String) -> Bool {
        let labels = host.lowercased().split(separator: ".")
        return labels.last == "localhost"
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
        "webhook-signature", "webhook-timestamp",
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
