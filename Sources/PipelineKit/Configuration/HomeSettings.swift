import Glibc

/// The NATS servers that keep the logs of a pipeline, and how stages connect to them.
package struct HomeSettings: Sendable {
    /// How a stage proves to the servers who it is.
    package enum Login: Sendable {
        case none
        case user(String, password: Secret)
        case nkey(Secret)
        /// A `.creds` file.
        case credentials(Secret)
    }

    /// Such as `nats://n1.example.com:4222`.
    package let servers: [String]
    /// On how many servers each event is stored: 1, 3 or 5.
    package let replicas: Int
    /// After this silence of a stage's host, another host takes the stage over.
    package let takeOver: Duration
    package let login: Login
    /// The paths of PEM files; nil for TLS with the system's certificates where an address or the server requires it.
    package let tls: TLS?
    /// For errors that name a place in the file.
    package let place: SettingsReader

    package struct TLS: PluginSettings, Equatable {
        package let authorities: String?
        package let certificate: String?
        package let key: String?

        package init(from settings: inout SettingsReader) throws(SettingsError) {
            authorities = try settings.optionalPath("ca")
            certificate = try settings.optionalPath("certificate")
            key = try settings.optionalPath("key")
            if certificate == nil, key != nil { throw settings.fail("certificate", "required beside 'key'") }
            if key == nil, certificate != nil { throw settings.fail("key", "required beside 'certificate'") }
        }
    }

    /// The keys below `log` that need a home.
    private static let keys = ["servers", "replicas", "takeOver", "user", "password", "nkey", "credentials", "tls"]
    private static let replicasAllowed = [1, 3, 5]
    private static let takeOverRange = Duration.seconds(1)...Duration.seconds(300)

    /// Reads the keys of a home.
    ///
    /// - Returns: Nil if the logs are in local files alone.
    static func read(
        _ isJetStream: Bool, from settings: inout SettingsReader
    ) throws(SettingsError) -> HomeSettings? {
        let given = keys.first { settings.contains($0) }
        let home = try HomeSettings(isJetStream, from: &settings)
        guard let given, !isJetStream else { return isJetStream ? home : nil }
        throw settings.fail(
            given, "needs 'home: \(LogSettings.jetStreamName)'", hint: "write that line below 'log:' too")
    }

    private init(_ isUsed: Bool, from settings: inout SettingsReader) throws(SettingsError) {
        servers = try settings.strings("servers")
        replicas = try settings.integer("replicas", default: 3, in: 1...5)
        takeOver = try settings.duration("takeOver", default: .seconds(3), in: HomeSettings.takeOverRange)
        login = try HomeSettings.login(from: &settings)
        tls = try settings.mapping("tls", as: TLS.self)
        place = settings
        guard isUsed else { return }
        if servers.isEmpty {
            throw settings.fail(
                "servers", "required", hint: "write servers: [nats://n1:4222, nats://n2:4222, nats://n3:4222]")
        }
        guard HomeSettings.replicasAllowed.contains(replicas) else {
            throw settings.fail("replicas", "must be 1, 3 or 5, but this is \(replicas)")
        }
    }

    private static func login(from settings: inout SettingsReader) throws(SettingsError) -> Login {
        let user = try settings.optionalString("user")
        let password = try settings.optionalSecret("password")
        let nkey = try settings.optionalSecret("nkey")
        let credentials = try settings.optionalSecret("credentials")
        if user == nil, password != nil { throw settings.fail("user", "required beside 'password'") }
        let ways = [user.map { _ in "user" }, nkey.map { _ in "nkey" }, credentials.map { _ in "credentials" }]
            .compactMap(\.self)
        if ways.count > 1 {
            throw settings.fail(ways[1], "cannot be used together with '\(ways[0])'", hint: "choose one of them")
        }
        if let user {
            guard let password else { throw settings.fail("password", "required beside 'user'") }
            return .user(user, password: password)
        }
        return nkey.map { .nkey($0) } ?? credentials.map { .credentials($0) } ?? .none
    }
}

extension HomeSettings: Equatable {
    /// Whether both have the same settings. The places in the files do not count.
    package static func == (left: HomeSettings, right: HomeSettings) -> Bool { left.texts == right.texts }

    /// The keys below `log` whose settings differ.
    package func differences(from other: HomeSettings) -> [String] {
        let (own, others) = (texts, other.texts)
        return Set(own.keys).union(others.keys).filter { own[$0] != others[$0] }.sorted()
    }

    /// The settings by their keys. A secret counts as its source.
    private var texts: [String: String] {
        var texts = ["servers": servers.joined(separator: " "), "replicas": "\(replicas)"]
        texts["takeOver"] = takeOver.settingsText
        (texts["tls.ca"], texts["tls.certificate"], texts["tls.key"]) = (tls?.authorities, tls?.certificate, tls?.key)
        switch login {
        case .none: break
        case .user(let name, let password): (texts["user"], texts["password"]) = (name, "\(password)")
        case .nkey(let seed): texts["nkey"] = "\(seed)"
        case .credentials(let file): texts["credentials"] = "\(file)"
        }
        return texts
    }
}

extension HomeSettings {
    /// An error for each file of `tls` that this process cannot read.
    func tlsFileErrors() -> [SettingsError] {
        let files = [("ca", tls?.authorities), ("certificate", tls?.certificate), ("key", tls?.key)]
        return files.compactMap { key, path in
            guard let path, access(path, R_OK) != 0 else { return nil }
            return place.fail(atPath: "tls.\(key)", "cannot open \(path): \(String(cString: strerror(errno)))")
        }
    }
}
