import CloudKitModel
import Predicates

/// Why a subscription cannot be saved or deleted.
///
/// CloudKit raises an exception for some of these mistakes; its server rejects the others.
public struct InvalidSubscription: Error, Hashable, Sendable {
    /// A stable word for programs, such as `name.length`. The ingest stage answers with the same codes.
    public let code: String
    /// The subscription's property to change, such as `notificationInfo.desiredKeys[3]` or `querySubscriptionOptions`.
    /// For a mistake outside the subscription, this is `databaseScope`, `container` or `user` (the user's record name).
    /// Empty if the subscription as a whole is too long or too deeply nested.
    public let property: String
    /// Says what is wrong, and usually what to do. For a mistake in a predicate, two more lines show the place.
    public let reason: String
}

extension InvalidSubscription: CustomStringConvertible {
    public var description: String {
        (property.isEmpty ? "" : "\(property): ") + "\(reason) (\(code))"
    }
}

extension InvalidSubscription {
    /// Turns a path in a command into a property: each pair is the beginning of a path, and the text that replaces this
    /// beginning. The first pair that fits the path counts.
    private static let properties = [
        ("subscription.subscriptionType", "databaseScope"), ("subscription.firesOn", "querySubscriptionOptions"),
        ("subscription.query.arguments", "predicate.arguments"), ("subscription.query.", ""),
        ("subscription.zoneID.ownerRecordName", "zoneID.ownerName"), ("subscription.", ""),
    ]

    init(_ error: ModelError) {
        let known = InvalidSubscription.properties.first { error.path.hasPrefix($0.0) }
        let property = known.map { $0.1 + error.path.dropFirst($0.0.count) } ?? error.path
        self.init(code: error.code, property: property, reason: InvalidSubscription.reason(of: error))
    }

    /// The error's reason, with the names of CloudKit's properties in place of the names in the command.
    private static func reason(of error: ModelError) -> String {
        guard error.code == "subscription.fires_on" else { return error.reason }
        return "name at least one of firesOnRecordCreation, firesOnRecordUpdate and firesOnRecordDeletion"
    }
}
