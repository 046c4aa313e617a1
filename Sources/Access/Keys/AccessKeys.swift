import CloudKitModel
import Time

/// The contents of a key file.
package struct AccessKeys: Hashable, Sendable {
    /// The keys, in the order of creation.
    package internal(set) var keys: [AccessKey]
    /// The secret under which gateways issue web authentication tokens. A gateway must know it, so it is not hashed.
    var secret: [UInt8]
    /// The users who signed out everywhere, each with the time. Sessions that began at this time or before are refused.
    var signOuts: [SignedOutUser: Instant]

    struct SignedOutUser: Hashable, Sendable {
        var container: String
        var user: String
    }

    private static let secretBytes = 32

    /// Makes contents without keys and with a new secret.
    package init(_ random: RandomBytes) {
        self.init(keys: [], secret: random(AccessKeys.secretBytes), signOuts: [:])
    }

    init(keys: [AccessKey], secret: [UInt8], signOuts: [SignedOutUser: Instant]) {
        self.keys = keys
        self.secret = secret
        self.signOuts = signOuts
    }

    func key(_ id: String) -> AccessKey? { keys.first { $0.id == id } }

    /// The key of an API token, and what Belfry stores of the token; nil if no key has this token.
    func key(ofToken text: String) -> (key: AccessKey, token: AccessKey.APIToken)? {
        let lastCharacters = text.suffix(AccessKey.lastCharactersCount)
        for key in keys {
            guard case .api(let token) = key.kind, token.lastCharacters == lastCharacters, token.matches(text) else {
                continue
            }
            return (key, token)
        }
        return nil
    }

    /// Whether the user has signed out everywhere since the session began.
    func isSignedOut(_ session: WebSession) -> Bool {
        signOuts[SignedOutUser(container: session.container, user: session.user)].map { session.signedIn <= $0 }
            ?? false
    }
}

// MARK: - Edits

extension AccessKeys {
    /// Adds a new key.
    ///
    /// - Returns: The key, and its API token, which Belfry does not store. The token is nil if the key is not an API
    ///   token.
    package mutating func create(
        _ draft: KeyDraft, at now: Instant, _ random: RandomBytes
    ) throws(AccessKeyError) -> (key: AccessKey, token: String?) {
        guard !keys.contains(where: { $0.name == draft.name }) else { throw .nameTaken(draft.name) }
        let made = try draft.key(createdAt: now, random)
        keys.append(made.key)
        return made
    }

    /// Revokes a key. For an API token, this also revokes all web authentication tokens that were issued under it.
    package mutating func revoke(_ nameOrID: String) throws(AccessKeyError) -> AccessKey {
        let index = keys.firstIndex { $0.name == nameOrID } ?? keys.firstIndex { $0.id == nameOrID }
        guard let index else { throw .unknownKey(nameOrID) }
        return keys.remove(at: index)
    }

    /// Revokes all web authentication tokens of a user in a container.
    package mutating func signOut(_ user: String, of container: String, at now: Instant) throws(AccessKeyError) {
        guard NameRule.user.accepts(user) else { throw .invalid(NameRule.user.rule) }
        guard Container.accepts(container) else {
            throw .invalid("the container is not valid; it must begin with \"iCloud.\", as in iCloud.com.example.App")
        }
        signOuts[SignedOutUser(container: container, user: user)] = now
    }

    /// Revokes all web authentication tokens by making a new secret.
    package mutating func signOutEverybody(_ random: RandomBytes) {
        secret = random(AccessKeys.secretBytes)
        signOuts = [:]
    }
}
