import CloudKitModel
import Signing
import Time

/// A key that is to be created.
package struct KeyDraft: Sendable {
    package enum Kind: Sendable {
        case api(signInURL: String?)
        case server(PublicKey, user: String)
        case signIn(PublicKey)
    }

    package var name: String
    package var scope: KeyScope
    package var kind: Kind

    package init(name: String, scope: KeyScope, kind: Kind) {
        self.name = name
        self.scope = scope
        self.kind = kind
    }

    private static let nameBytesMax = 64
    private static let invalidName =
        "the key's name is not valid; use 1 to \(nameBytesMax) ASCII letters, digits, '.', '-' and '_'"
    private static let apiTokenBytes = 32

    /// - Returns: The key, and its API token, which Belfry does not store. The token is nil if the key is not an API
    ///   token.
    /// - Throws: ``AccessKeyError`` if a value is not acceptable.
    func key(
        createdAt created: Instant, _ random: RandomBytes
    ) throws(AccessKeyError) -> (key: AccessKey, token: String?) {
        try check()
        let token = random(KeyDraft.apiTokenBytes).hexadecimal
        let kind: AccessKey.Kind =
            switch self.kind {
            case .api(let url): .api(AccessKey.APIToken(token, signInURL: url))
            case .server(let key, let user): .server(key, user: user)
            case .signIn(let key): .signIn(key)
            }
        let key = AccessKey(id: random(idBytes).hexadecimal, name: name, created: created, scope: scope, kind: kind)
        return (key, kind.isAPI ? token : nil)
    }

    /// Apple's IDs of server-to-server keys have 64 digits, and some clients check the length.
    private var idBytes: Int { if case .server = kind { 32 } else { 8 } }

    private static func isName(_ name: String) -> Bool {
        (1...nameBytesMax).contains(name.utf8.count)
            && name.unicodeScalars.allSatisfy {
                $0.isASCII && ($0.properties.isAlphabetic || "0123456789.-_".unicodeScalars.contains($0))
            }
    }

    private func check() throws(AccessKeyError) {
        guard KeyDraft.isName(name) else { throw .invalid(KeyDraft.invalidName) }
        if let container = scope.container, !Container.accepts(container) {
            throw .invalid(
                "the container is not valid; it must begin with \"iCloud.\", as in iCloud.com.example.App, or be * for "
                    + "every container")
        }
        guard !scope.environments.isEmpty, !scope.databases.isEmpty else {
            throw .invalid("the key has no environment or no database; name at least one of each")
        }
        try checkKind()
    }

    private func checkKind() throws(AccessKeyError) {
        if case .api(let url?) = kind, !url.hasPrefix("https://"), !url.hasPrefix("http://") {
            throw .invalid("the sign-in URL does not begin with https:// or http://")
        }
        guard case .server(_, let user) = kind else { return }
        if let problem = UserName.problem(user) { throw .invalid(problem) }
        // CloudKit Web Services: Accessing CloudKit Using a Server-to-Server Key.
        guard scope.databases == [.public] else {
            throw .invalid("a server-to-server key is for the public database only, but this key names another one")
        }
    }
}

extension AccessKey.Kind {
    var isAPI: Bool { if case .api = self { true } else { false } }
}
