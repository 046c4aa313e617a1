import CloudKitModel
import Time

/// The content of a web authentication token: a user has signed in to a container with an app.
struct WebSession: Hashable, Sendable {
    var user: String
    var container: String
    var environment: ContainerEnvironment
    /// The ID of the API token under which the user signed in. The session ends when this API token is revoked.
    var keyID: String
    /// The databases that the sign-in key of the user's assertion allows. The API token may allow fewer.
    var databases: Set<DatabaseScope>
    var isReadOnly: Bool
    /// When the user signed in. A renewed token keeps this time, so that signing out everywhere ends the whole session.
    var signedIn: Instant
    var keepsSignedIn: Bool
    /// The first moment at which the token is no longer valid.
    var expires: Instant

    /// The session with a new expiration: now plus the full life of a token.
    func renewed(at now: Instant) -> WebSession {
        var session = self
        session.expires = now.advanced(by: keepsSignedIn ? WebSession.longLife : WebSession.life)
        return session
    }

    // CloudKit Web Services, Accessing CloudKit Using an API Token: 30 minutes, or two weeks.
    static let life = Duration.seconds(30 * 60)
    static let longLife = Duration.seconds(14 * 86_400)
}
