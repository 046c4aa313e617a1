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
    private static let nameRule = "a key's name has 1 to \(nameBytesMax) ASCII letters, digits, '.', '-' and '_'"
    private static let apiTokenBytes = 32

    /// - Returns: The key, and the API token, which nobody can read later; nil for other kinds of keys.
    /// - Throws: ``AccessKeyError`` if a value is not acceptable.
    func key(_ created: Instant, _ random: RandomBytes) throws(AccessKeyError) -> (key: AccessKey, token: String?) {
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

    /// Apple's IDs of server-to-server keys have 64 digits, and some clients check that.
    private var idBytes: Int { if case .server = kind { 32 } else { 8 } }

    private static func isName(_ name: String) -> Bool {
        (1...nameBytesMax).contains(name.utf8.count)
            && name.unicodeScalars.allSatisfy {
                $0.isASCII && ($0.properties.isAlphabetic || "0123456789.-_".unicodeScalars.contains($0))
            }
    }

    private func check() throws(AccessKeyError) {
        guard KeyDraft.isName(name) else { throw .invalid(KeyDraft.nameRule) }
        if let container = scope.container, !Container.accepts(container) {
            throw .invalid(
                "a container starts with \"iCloud.\", as in iCloud.com.example.App, or is * for every container")
        }
        guard !scope.environments.isEmpty, !scope.databases.isEmpty else {
            throw .invalid("a key is for at least one environment and one database")
        }
        try checkKind()
    }

    private func checkKind() throws(AccessKeyError) {
        if case .api(let url?) = kind, !url.hasPrefix("https://"), !url.hasPrefix("http://") {
            throw .invalid("a sign-in URL begins with https:// or http://")
        }
        guard case .server(_, let user) = kind else { return }
        guard NameRule.user.accepts(user) else { throw .invalid(NameRule.user.rule) }
        // CloudKit Web Services: Accessing CloudKit Using a Server-to-Server Key.
        guard scope.databases == [.public] else {
            throw .invalid("a server-to-server key is for the public database only")
        }
    }
}

extension AccessKey.Kind {
    var isAPI: Bool { if case .api = self { true } else { false } }
}
