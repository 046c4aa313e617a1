import PipelineKit

/// Settings of ``APNsTransport``.
///
///     apns:
///       use: apns
///       apps:
///         notes:
///           container: iCloud.com.example.Notes
///           environment: production
///           topic: com.example.Notes
///           team: ABCDE12345
///           key: KEY1234567
///           keyFile: { $file: /etc/belfry/AuthKey_KEY1234567.p8 }
package struct APNsSettings: PluginSettings {
    /// At least one app, in the order of the file. No two apps have the same container, environment and topic.
    let apps: [APNsApp]
    /// A server to use instead of Apple's.
    let host: String?
    let port: Int
    /// A PEM file with the certificates to trust instead of the system's.
    let trust: String?
    let proxy: ProxyAddress?
    /// The login at the proxy: `user:password`.
    let proxyLogin: Secret?
    /// The number of connections in each pool. Apps with the same key and server share a pool. An app with a
    /// certificate has a pool of its own.
    let connections: Int
    /// How many pushes may be in flight in all pools together, even if the servers allow more. A push whose answer is
    /// late is reported to the stage as deferred. It then does not count any more.
    let inFlightMax: Int
    /// How long a request waits for its answer before it is cancelled.
    let timeout: Duration
    let backoff: Backoff
    /// Whether an alert without a collapse ID gets its `apns-id` as collapse ID. If APNs gets the alert twice, the
    /// second one then replaces the first one.
    let collapsesRepeats: Bool
    /// The age at which a provider token is replaced, before jitter.
    let tokenAge: Duration

    package static let fileKeys: Set<String> = ["certificate", "trust"]

    package init(from settings: inout SettingsReader) throws(SettingsError) {
        host = try settings.optionalString("host")
        port = try settings.integer("port", default: 443, in: 1...65_535)
        trust = try settings.optionalPath("trust")
        proxy = try ProxyAddress(&settings)
        proxyLogin = try settings.optionalSecret("proxyLogin")
        connections = try settings.integer("connections", default: 1, in: 1...32)
        inFlightMax = try settings.integer("inFlightMax", default: 4_000, in: 1...1_000_000)
        timeout = try settings.duration("timeout", default: .seconds(20), in: .milliseconds(100)...(.seconds(900)))
        backoff = Backoff(
            serverError: try settings.duration(
                "retryAfter5xx", default: .seconds(900), in: .milliseconds(1)...(.seconds(7_200))))
        collapsesRepeats = try settings.boolean("collapseRepeats", default: true)
        tokenAge = try settings.duration(
            "tokenAge", default: .seconds(40 * 60), in: .seconds(1_500)...(.seconds(3_300)))
        apps = try settings.mappings("apps", as: APNsApp.self).map { name, app in app.named(name) }
        try Self.check(apps, settings)
    }

    package func secretErrors() -> [any Error] { apps.compactMap { $0.credentialError() } }

    private static func check(_ apps: [APNsApp], _ settings: SettingsReader) throws(SettingsError) {
        guard !apps.isEmpty else {
            throw settings.fail("apps", "no app is configured", hint: APNsApp.example)
        }
        for (index, app) in apps.enumerated() {
            guard let twin = apps[..<index].first(where: { $0.identity == app.identity }) else { continue }
            throw settings.fail(
                "apps", "\(twin.name) and \(app.name) have the same container, environment and topic",
                hint: "remove one of them")
        }
    }

    /// The server of an environment (Apple, "Sending notification requests to APNs").
    func host(of environment: String) -> String {
        host ?? (environment == "production" ? "api.push.apple.com" : "api.sandbox.push.apple.com")
    }
}

/// An app, and the credential for its pushes.
struct APNsApp: PluginSettings {
    enum Credential: Sendable {
        case key(id: String, team: String, Secret)
        case certificate(path: String, Secret)

        var secret: Secret {
            switch self {
            case .key(_, _, let secret), .certificate(_, let secret): secret
            }
        }
    }

    private(set) var name = ""
    let container: String
    /// `development` or `production`, for CloudKit and APNs alike.
    let environment: String
    let topic: String
    let credential: Credential

    var identity: [String] { [container, environment, topic] }

    var usesCertificate: Bool { if case .certificate = credential { true } else { false } }

    init(from settings: inout SettingsReader) throws(SettingsError) {
        container = try settings.string("container")
        environment = try settings.choice(
            "environment", of: ["development", "production"], default: "development")
        topic = try settings.string("topic")
        credential = try Self.credential(&settings)
        guard topic.utf8.allSatisfy({ 0x21...0x7E ~= $0 }), !topic.isEmpty else {
            throw settings.fail("topic", "is not a bundle ID", hint: "write one like com.example.Notes")
        }
    }

    private static func credential(_ settings: inout SettingsReader) throws(SettingsError) -> Credential {
        if settings.contains("certificate") {
            return .certificate(path: try settings.path("certificate"), try settings.secret("certificateKey"))
        }
        let (team, id) = (try settings.string("team"), try settings.string("key"))
        for (key, value) in [("team", team), ("key", id)] where !isIdentifier(value) {
            throw settings.fail(
                key, "is not ten letters and digits", hint: "copy the ID from Apple's developer site")
        }
        return .key(id: id, team: team, try settings.secret("keyFile"))
    }

    // Key and team IDs have ten characters (Apple, "Establishing a token-based connection to APNs").
    private static func isIdentifier(_ text: String) -> Bool {
        text.utf8.count == 10 && text.utf8.allSatisfy { 0x30...0x39 ~= $0 || 0x41...0x5A ~= $0 & 0xDF }
    }

    func named(_ name: String) -> APNsApp {
        var app = self
        app.name = name
        return app
    }

    static let example =
        "write one like notes: { container: iCloud.com.example.Notes, environment: production, topic: com.example.Notes, "
        + "team: ABCDE12345, key: KEY1234567, keyFile: { $file: AuthKey_KEY1234567.p8 } }"
}

/// The HTTP proxy through which connections are opened, by `CONNECT` requests.
struct ProxyAddress: Hashable, Sendable {
    let host: String
    let port: Int

    /// Reads `proxy: http://HOST:PORT`.
    init?(_ settings: inout SettingsReader) throws(SettingsError) {
        guard let text = try settings.optionalString("proxy") else { return nil }
        let parts = text.replacing("http://", with: "").split(separator: ":")
        guard parts.count == 2, let port = Int(parts[1]), 1...65_535 ~= port else {
            throw settings.fail("proxy", "is not a proxy address", hint: "write one like http://proxy.example.com:3128")
        }
        (host, self.port) = (String(parts[0]), port)
    }
}
