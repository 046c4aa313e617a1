/// The keys, apps and devices that APNs knows.
package struct Registry: Sendable {
    package var keys: [String: SigningKey] = [:] {
        didSet { verifiedTokens.removeAll() }
    }
    /// The devices by their token in lower case, then by bundle ID.
    package private(set) var devices: [String: [String: Device]] = [:]
    /// Whether devices and apps that are not in ``devices`` are rejected.
    package var isStrict = false
    /// The provider token in use for each key ID. Only used if all connections share the limit for changes of the
    /// token.
    package var updates: [String: TokenUpdates] = [:]
    private var verifiedTokens: [String: ProviderToken] = [:]
    private var registeredBundles: Set<String> = []
    private var revokedKeys: Set<String> = []

    /// How many verified tokens are remembered: more than clients use at the same time. When this number is reached,
    /// all are forgotten before the next token is remembered.
    private static let verifiedMax = 64

    package init(keys: [SigningKey] = [], devices: [Device] = [], isStrict: Bool = false) {
        self.keys = Dictionary(keys.map { ($0.id, $0) }) { $1 }
        self.isStrict = isStrict
        for device in devices { set(device) }
    }

    /// The apps that have registered devices; nil if any app is accepted.
    package var bundles: Set<String>? { isStrict ? registeredBundles : nil }

    /// Adds a device, or replaces the device with the same token and app.
    package mutating func set(_ device: Device) {
        devices[device.token, default: [:]][device.bundle] = device
        registeredBundles.insert(device.bundle)
    }

    /// - Returns: False, without a change, if there is no such key.
    package mutating func set(key id: String, _ state: KeyState) -> Bool {
        guard keys[id] != nil else { return false }
        switch state {
        case .active: revokedKeys.remove(id)
        case .revoked: revokedKeys.insert(id)
        }
        return true
    }

    /// Parses a provider token. Tokens of revoked keys are rejected.
    package mutating func token(_ text: String, leniently: Bool) -> ProviderToken? {
        guard let token = read(text, leniently: leniently), !revokedKeys.contains(token.key.id) else { return nil }
        return token
    }

    /// Parses a token. A valid token is remembered and not checked again.
    private mutating func read(_ text: String, leniently: Bool) -> ProviderToken? {
        let cacheKey = leniently ? "~" + text : text
        if let known = verifiedTokens[cacheKey] { return known }
        guard let token = TokenReader(keys: keys, isLenient: leniently).read(text) else { return nil }
        if verifiedTokens.count >= Registry.verifiedMax { verifiedTokens.removeAll() }
        verifiedTokens[cacheKey] = token
        return token
    }
}

/// An app on a device, as APNs knows it.
package struct Device: Sendable, Equatable {
    /// When an offline device becomes active again, it gets the push that is stored for the app.
    package enum State: String, Sendable, CaseIterable { case active, unregistered, expired, offline }

    /// The device token: hex digits in lower case.
    package var token: String
    /// The app's bundle ID, which pushes name as their topic.
    package var bundle: String
    /// The environment in which the token is valid; nil if it is valid in both.
    package var environment: Environment?
    /// Pushes to an unregistered or expired device are rejected with status 410.
    package var state: State
    /// When the device got its ``state``, in milliseconds since 1970.
    package var since: Int64?

    package init(
        token: String, bundle: String, environment: Environment? = nil, state: State = .active, since: Int64? = nil
    ) {
        self.token = token.lowercased()
        self.bundle = bundle
        self.environment = environment
        self.state = state
        self.since = since
    }

    func isOf(_ environment: Environment) -> Bool { self.environment == nil || self.environment == environment }
}
