import CloudKitModel
import Predicates

/// Why a subscription cannot be saved.
///
/// CloudKit raises an exception for some of these and has its server refuse the others.
public struct InvalidSubscription: Error, Hashable, Sendable {
    /// A stable word for programs, such as `name.length`; the same as ingest's.
    public let code: String
    /// What to change, such as `notificationInfo.desiredKeys[3]`, `querySubscriptionOptions` or `databaseScope`.
    public let property: String
    /// A sentence with the rule and what to do.
    public let reason: String
}

extension InvalidSubscription: CustomStringConvertible {
    public var description: String { "\(property): \(reason) (\(code))" }
}

extension InvalidSubscription {
    /// Where a subscription dictionary has what a property holds; the longest that fits counts.
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

    /// CloudKit's words where the dictionary has others.
    private static func reason(of error: ModelError) -> String {
        guard error.code == "subscription.fires_on" else { return error.reason }
        return "name at least one of firesOnRecordCreation, firesOnRecordUpdate and firesOnRecordDeletion"
    }
}
