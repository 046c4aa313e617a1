/// What an answer of APNs, or its lack, means for the push and for the connection: whether it is tried again, and after
/// which of the waits of ``Backoff``.
///
/// Source: Handling notification responses from APNs, and what clients have seen; the rule that no source gives is ours.
struct Treatment: Hashable, Sendable {
    enum Push: Hashable, Sendable {
        /// Taken. Never "delivered".
        case accept
        /// Our bug or our input: final.
        case fail
        /// The token is no longer one.
        case unregistered
        /// The token is unknown, or the topic is another's: the device's fault or the configuration's.
        case unknownAddress
        /// Nothing of this app is taken until somebody mends it.
        case stop
        /// Once more at once, over another connection; refused there too, it ends in this way.
        case onceMore(End)
        /// After a wait.
        case later(Wait)
    }

    enum End: Hashable, Sendable {
        case stop
        case later(Wait)
    }

    enum Wait: Hashable, Sendable {
        /// No answer came: from a second on.
        case unanswered
        /// The device gets too many: for it alone.
        case slowDevice
        /// APNs is in trouble: from 15 minutes on.
        case serverError
        /// As long as no other token may be made.
        case tokenPause
    }

    enum Connection: Hashable, Sendable {
        case keep
        /// No new request on it; another is opened.
        case replace
        /// As `replace`, for all connections of the credential: it is not taken any more, or never was.
        // Sending notification requests to APNs; Establishing a token-based connection to APNs: revoked.
        case renew
        /// As `replace`, and with a new token if the last is old enough.
        case refreshToken
        /// As `replace`, with the same token, and none made for 20 minutes.
        case keepToken
        /// Counted: after several in a row it is replaced.
        case suspect
    }

    var push: Push
    var connection = Connection.keep

    /// - Parameter reason: As APNs wrote it; empty where there is none.
    init(status: Int, reason: String) {
        if status == 200 {
            self.init(.accept)
        } else if let known = Self.byReason[reason.filter { $0 != " " }] {
            self = known
        } else {
            self = Self.byStatus(status)
        }
    }

    /// Whether somebody has told what the reason means.
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
        "IdleTimeout": .init(.onceMore(.later(.unanswered)), .replace),
        "InvalidPushType": .init(.fail),
        "MissingDeviceToken": .init(.fail),
        "MissingTopic": .init(.stop),
        "PayloadEmpty": .init(.fail),
        "TopicDisallowed": .init(.onceMore(.stop), .replace),
        "BadCertificate": .init(.stop, .renew),
        "BadCertificateEnvironment": .init(.stop, .renew),
        "ExpiredProviderToken": .init(.onceMore(.stop), .refreshToken),
        "Forbidden": .init(.fail),
        "InvalidProviderToken": .init(.stop, .renew),
        "MissingProviderToken": .init(.stop),
        "UnrelatedKeyIdInToken": .init(.onceMore(.later(.unanswered)), .replace),
        "BadEnvironmentKeyIdInToken": .init(.stop),
        "BadEnvironmentKeyInToken": .init(.stop),
        "TopicMismatch": .init(.stop),
        "BadPath": .init(.fail),
        "MethodNotAllowed": .init(.fail),
        "ExpiredToken": .init(.unregistered),
        "Unregistered": .init(.unregistered),
        "PayloadTooLarge": .init(.fail),
        "TooManyProviderTokenUpdates": .init(.onceMore(.later(.tokenPause)), .keepToken),
        "TooManyRequests": .init(.later(.slowDevice)),
        "InternalServerError": .init(.later(.serverError), .suspect),
        "ServiceUnavailable": .init(.later(.serverError)),
        "Shutdown": .init(.later(.serverError), .replace),
    ]

    /// For reasons that nobody has told us of.
    private static func byStatus(_ status: Int) -> Treatment {
        switch status {
        case 410: .init(.unregistered)
        case 421: .init(.onceMore(.later(.unanswered)), .replace)
        case 408: .init(.later(.unanswered))
        case 429: .init(.later(.slowDevice))
        case 500...: .init(.later(.serverError))
        default: .init(.fail)
        }
    }
}
