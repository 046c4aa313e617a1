import Signing
import Time

/// A key of the web gateway.
package struct AccessKey: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// Identifies an app: `ckAPIToken`.
        case api(APIToken)
        /// Signs requests, which act as one user.
        case server(PublicKey, user: String)
        /// Signs assertions, which say who a user is.
        case signIn(PublicKey)
    }

    /// What Belfry stores of an API token.
    package struct APIToken: Hashable, Sendable {
        /// SHA-256 without salt or stretching: both only slow down guessing, and nobody can guess 256 random bits.
        let digest: [UInt8]
        let lastCharacters: String
        /// Where users of the app sign in.
        package let signInURL: String?
    }

    /// A random name, by which requests and tokens refer to the key. The ID is not a secret.
    package let id: String
    /// The name that the operator gave.
    package let name: String
    package let created: Instant
    package let scope: KeyScope
    package let kind: Kind

    /// The last four characters of the API token, or of the ID for the other kinds. The key's owner recognises the key
    /// by them.
    package var lastCharacters: String {
        if case .api(let token) = kind {
            token.lastCharacters
        } else {
            String(id.suffix(AccessKey.lastCharactersCount))
        }
    }

    static let lastCharactersCount = 4
}

extension AccessKey.APIToken {
    init(_ text: String, signInURL: String?) {
        digest = SHA256.digest(of: text)
        lastCharacters = String(text.suffix(AccessKey.lastCharactersCount))
        self.signInURL = signInURL
    }

    func matches(_ text: String) -> Bool { ConstantTime.areEqual(digest, SHA256.digest(of: text)) }
}
