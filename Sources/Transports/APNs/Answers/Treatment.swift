/// What an answer of APNs means for the push and for the connection: whether the push is retried, and after which of
/// ``Backoff``'s waits.
///
/// The rules are from Apple's page "Handling notification responses from APNs", and from what clients have observed.
struct Treatment: Hashable, Sendable {
    enum Push: Hashable, Sendable {
        /// Accepted by APNs, which does not mean that a device got it.
        case accept
        /// Rejected permanently, because of a bug or bad input.
        case fail
        /// The device's token is no longer valid.
        case unregistered
        /// The token is unknown, or belongs to another topic.
        case unknownAddress
        /// APNs rejects every push of the app until the operator corrects its configuration.
        case stop
        /// Retried at once, over another connection. If another connection does not help, ``End`` applies.
        case retryOnce(End)
        case retryLater(Wait)
    }

    /// What happens to a push if another connection does not help.
    enum End: Hashable, Sendable {
        case stop
        case retryLater(Wait)
    }

    enum Wait: Hashable, Sendable {
        /// The push had no answer or was not sent, or APNs gave a temporary answer that no other case is for: wait for
        /// about one second or longer.
        case briefly
        /// The device gets too many pushes: this push waits, but the other pushes of the app do not.
        case slowDevice
        /// APNs has an error of its own: wait for about ``Backoff/serverError`` (15 minutes by default) or longer.
        case serverError
        /// APNs counts too many provider tokens: wait for about five minutes or longer.
        case tokenPause
    }

    enum Connection: Hashable, Sendable {
        case keep
        /// The pool sends no more requests over this connection, and opens another one.
        case replace
        /// As `replace`, for all connections of the pool, because APNs rejects their credential.
        // Apple, "Sending notification requests to APNs"; for revoked keys:
        // "Establishing a token-based connection to APNs".
        case renew
        /// As `replace`. The pool also replaces the provider token, if ``SharedToken/replaceExpired(at:)`` allows it.
        case refreshToken
        /// As `replace`. The next requests have the current provider token. No provider token is made for 20 minutes,
        /// unless the current token is almost an hour old.
        case keepToken
        /// The pool counts such answers, and replaces the connection after several in a row.
        case suspect
    }

    var push: Push
    var connection = Connection.keep

    /// - Parameter reason: The reason as APNs wrote it; empty if APNs gave no reason.
    init(status: Int, reason: String) {
        if status == 200 {
            self.init(.accept)
        } else if let known = Self.byReason[reason.filter { $0 != " " }] {
            self = known
        } else {
            self = Self.byStatus(status)
        }
    }

    /// Whether the reason has a treatment of its own.
    static func isKnown(_ reason: String) -> Bool { byReason[reason.filter { $0 != " " }] != nil }

    private init(_ push: Push, _ connection: Connection = .keep) {
        self.push = push
        self.connection = connection
    }

    private static let byReason: [String: Treatment] = [
        "BadCollapseId": .init(.fail),
        "BadDeviceToken": .init(.unknownAddress),
        "BadExpirationDate": .init(.fail),
        "BadMessageId": .init(.fail),
        "BadPriority": .init(.fail),
        "BadTopic": .init(.stop),
        "DeviceTokenNotForTopic": .init(.unknownAddress),
        "DuplicateHeaders": .init(.fail),
        "IdleTimeout": .init(.retryOnce(.retryLater(.briefly)), .replace),
        "InvalidPushType": .init(.fail),
        "MissingDeviceToken": .init(.fail),
        "MissingTopic": .init(.stop),
        "PayloadEmpty": .init(.fail),
        "TopicDisallowed": .init(.retryOnce(.stop), .replace),
        "BadCertificate": .init(.stop, .renew),
        "BadCertificateEnvironment": .init(.stop, .renew),
        "ExpiredProviderToken": .init(.retryOnce(.stop), .refreshToken),
        "Forbidden": .init(.fail),
        "InvalidProviderToken": .init(.stop, .renew),
        "MissingProviderToken": .init(.stop),
        "UnrelatedKeyIdInToken": .init(.retryOnce(.retryLater(.briefly)), .replace),
        "BadEnvironmentKeyIdInToken": .init(.stop),
        "BadEnvironmentKeyInToken": .init(.stop),
        "TopicMismatch": .init(.stop),
        "BadPath": .init(.fail),
        "MethodNotAllowed": .init(.fail),
        "ExpiredToken": .init(.unregistered),
        "Unregistered": .init(.unregistered),
        "PayloadTooLarge": .init(.fail),
        "TooManyProviderTokenUpdates": .init(.retryOnce(.retryLater(.tokenPause)), .keepToken),
        "TooManyRequests": .init(.retryLater(.slowDevice)),
        "InternalServerError": .init(.retryLater(.serverError), .suspect),
        "ServiceUnavailable": .init(.retryLater(.serverError)),
        "Shutdown": .init(.retryLater(.serverError), .replace),
    ]

    /// The treatment of answers without a reason, or with an unknown reason.
    private static func byStatus(_ status: Int) -> Treatment {
        switch status {
        case 410: .init(.unregistered)
        case 421: .init(.retryOnce(.retryLater(.briefly)), .replace)
        case 408: .init(.retryLater(.briefly))
        case 429: .init(.retryLater(.slowDevice))
        case 500...: .init(.retryLater(.serverError))
        default: .init(.fail)
        }
    }
}
