/// What APNs remembers of a connection between two requests.
package struct ConnectionState: Sendable {
    /// Counted from 1 since the start.
    package let number: Int
    /// The client's certificate in the TLS handshake; nil: the client sends tokens.
    package let certificate: ClientCertificate?
    /// The key of the first push with a valid token.
    package var firstKey: SigningKey?
    /// The known bundle IDs at the time of the first push; nil: any, or no push yet.
    package var bundles: Set<String>?
    package var hasPushed = false
    package var updates = TokenUpdates()

    package init(number: Int = 1, certificate: ClientCertificate? = nil) {
        self.number = number
        self.certificate = certificate
    }

    mutating func begin(with registry: Registry) {
        guard !hasPushed else { return }
        hasPushed = true
        bundles = registry.bundles
    }
}

/// The provider token in use, and when its use began.
package struct TokenUpdates: Sendable {
    private var current: String?
    private var since: Int64 = 0

    /// APNs: a token may change once in 20 minutes.
    private static let pauseMilliseconds: Int64 = 20 * 60_000

    package init() {}

    /// - Returns: Whether the token may be used: it is the one in use, or the last change is long enough ago.
    package mutating func admit(_ token: String, at now: Int64) -> Bool {
        guard token != current else { return true }
        guard current == nil || now - since >= TokenUpdates.pauseMilliseconds else { return false }
        current = token
        since = now
        return true
    }
}
