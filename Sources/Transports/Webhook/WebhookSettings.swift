import PipelineKit

/// Settings of ``WebhookTransport``.
package struct WebhookSettings: PluginSettings {
    /// The URL that pushes are posted to.
    let url: Secret
    /// How long one attempt may take, including its answer.
    package let timeout: Duration
    /// How often a push is tried before it is given up.
    package let attempts: Int
    /// The wait before the second attempt. It doubles with each further attempt, up to ``RetryPolicy/backoffMax``.
    /// Each wait is shortened at random, at most by half. A `Retry-After` can make it longer.
    package let backoff: Duration
    /// How many requests may be in flight at the same time.
    package let concurrency: Int
    /// Headers that are sent with each request, in the order of the file.
    let headers: [(name: String, value: Secret)]
    /// The secrets that sign requests; empty if requests are not signed.
    let secrets: [Secret]
    let rules: HTTPRules

    package init(from settings: inout SettingsReader) throws(SettingsError) {
        let networks = try settings.choice("privateNetworks", default: PrivateNetworks.refuse)
        rules = HTTPRules(allowsPrivateNetworks: networks == .allow, trust: try settings.optionalPath("trust"))
        url = try settings.secretOrText("url")
        timeout = try settings.duration("timeout", default: .seconds(10), in: .milliseconds(10)...(.seconds(300)))
        attempts = try settings.integer("attempts", default: 5, in: 1...100)
        backoff = try settings.duration(
            "backoff", default: .milliseconds(500), in: .milliseconds(1)...RetryPolicy.backoffMax)
        concurrency = try settings.integer("concurrency", default: 8, in: 1...1000)
        headers = try Self.headers(&settings)
        secrets = try settings.secrets("secret", countMax: Self.secretsMax)
        let mayBePrivate = networks == .allow || settings.isExcused("privateNetworks")
        do throws(WebhookTarget.Flaw) {
            if let text = url.textInClear { _ = try WebhookTarget.url(text, mayBePrivate: mayBePrivate) }
        } catch {
            throw settings.fail("url", error.reason, hint: error.hint)
        }
    }

    package static let secretKeys: Set<String> = ["url", "headers"]

    package func secretErrors() -> [any Error] { WebhookTarget.errors(self) }

    private enum PrivateNetworks: String, CaseIterable { case refuse, allow }

    /// How many secrets there may be. Several secrets let receivers change from an old secret to a new one.
    private static let secretsMax = 4

    private static func headers(
        _ settings: inout SettingsReader
    ) throws(SettingsError) -> [(name: String, value: Secret)] {
        guard var reader = try settings.mapping("headers") else { return [] }
        var headers: [(name: String, value: Secret)] = []
        for name in reader.keys {
            guard !reserved.contains(name.lowercased()) else {
                throw reader.fail(name, "is a header that the transport sets itself", hint: "remove it")
            }
            guard !name.isEmpty, name.utf8.allSatisfy(isTokenByte) else {
                throw reader.fail(name, "is not a valid name of an HTTP header")
            }
            let value = try reader.secretOrText(name)
            guard value.textInClear.map(WebhookTarget.isHeaderValue) ?? true else {
                throw reader.fail(name, WebhookTarget.unusableHeaderValue)
            }
            headers.append((name, value))
        }
        return headers
    }

    private static let reserved: Set<String> = [
        "connection", "content-length", "content-type", "expect", "host", "transfer-encoding", "webhook-id",
        "webhook-signature", "webhook-timestamp",
    ]

    /// Whether the byte may be in the name of a header (RFC 9110, section 5.6.2: token).
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
