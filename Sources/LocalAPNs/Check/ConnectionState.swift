/// The state of a connection that APNs keeps from one request to the next.
package struct ConnectionState: Sendable {
    /// The connection's number, counted from 1 since the server started.
    package let number: Int
    /// The certificate that the client showed in the TLS handshake. Nil if it showed none: its requests then need a
    /// provider token.
    package let certificate: ClientCertificate?
    /// The key that signed the first provider token that was accepted on the connection.
    package var firstKey: SigningKey?
    /// The bundle IDs that APNs knew at the connection's first authenticated push. Nil before that push, or if APNs
    /// accepts any app.
    package var bundles: Set<String>?
    package var hasAuthenticated = false
    package var updates = TokenUpdates()

    package init(number: Int = 1, certificate: ClientCertificate? = nil) {
        self.number = number
        self.certificate = certificate
    }

    /// Notes the first authenticated push of the connection.
    mutating func noteAuthenticatedPush(with registry: Registry) {
        guard !hasAuthenticated else { return }
        hasAuthenticated = true
        bundles = registry.bundles
    }
}

/// The provider token in use, and when its use began.
package struct TokenUpdates: Sendable {
    private var current: String?
    private var since: Int64 = 0

    /// The shortest time between two changes of the token, as at APNs.
    private static let pauseMilliseconds: Int64 = 20 * 60_000

    package init() {}

    /// - Returns: Whether the token may be used. A new token may be used if the last change is long enough ago.
    package mutating func admit(_ token: String, at now: Int64) -> Bool {
        guard token != current else { return true }
        guard current == nil || now - since >= TokenUpdates.pauseMilliseconds else { return false }
        current = token
        since = now
        return true
    }
}
