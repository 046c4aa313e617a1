import Events
import JSON

/// A view of a checked subscription dictionary.
package struct Subscription {
    /// The three forms, whatever words they came in.
    package enum Form: Sendable { case query, zone, database }

    package let form: Form
    package let subscriptionID: JSONValue
    /// The query's, or what narrows a zone or database subscription; nil for any type.
    package let recordType: JSONValue?
    /// The watched zone, or the query's; nil for the default zone of a query, or all zones.
    package let zoneID: ZoneID?
    /// All zones; with a query, instead of the default zone.
    package let zoneWide: Bool
    package let firesOnce: Bool
    /// Only with ``Form/query``. Its `filterBy` and `predicate` are for the `Predicates` module to check.
    package let query: JSONValue?
    package let notificationInfo: JSONValue?

    private static let keys: [Member] = [
        .subscriptionID, .subscriptionType, .query, .firesOn, .firesOnce, .zoneID, .zoneWide, .recordType,
        .notificationInfo,
    ]
    private static let types: [StaticString] = ["query", "zone", "database"]

    /// - Parameter anyScope: Takes each form in each database, which CloudKit does not.
    /// - Throws: `member.*`, `name.*`, `word.unknown`; `subscription.fires_on`, `subscription.fires_once`,
    ///   `subscription.scope`, `subscription.zone`; what ``NotificationInfo`` and ``ZoneID`` throw.
    package init(_ json: JSONValue, in scope: DatabaseScope, anyScope: Bool = false) throws(ModelError) {
        try json.expectObject("a subscription")
        try json.expectKeys(Subscription.keys, of: "a subscription")
        try NameRule.subscriptionID.check(.subscriptionID, of: json)
        subscriptionID = try json.required(.subscriptionID)
        zoneWide = try json.flag(.zoneWide)
        firesOnce = try json.flag(.firesOnce)
        form = try Subscription.form(of: json, zoneWide: zoneWide)
        query = json[.query]
        zoneID = try Subscription.zoneID(of: json)
        recordType = form == .query ? query?[.recordType] : json[.recordType]
        notificationInfo = json[.notificationInfo]
        try SubscriptionRules(subscription: self, json: json).check(in: scope, anyScope: anyScope)
    }

    private static func form(of json: JSONValue, zoneWide: Bool) throws(ModelError) -> Form {
        let type = try json.required(.subscriptionType)
        let word = try under(.subscriptionType) { () throws(ModelError) in
            try type.expectWord(types, "a subscription's type")
        }
        switch word {
        case 0: return .query
        case 1: return zoneWide && json[.zoneID] == nil ? .database : .zone
        default: return .database
        }
    }

    private static func zoneID(of json: JSONValue) throws(ModelError) -> ZoneID? {
        guard let zone = json[.zoneID] else { return nil }
        return try under(.zoneID) { () throws(ModelError) in try ZoneID(zone) }
    }
}

extension Subscription.Form {
    var word: StaticString {
        switch self {
        case .query: "query"
        case .zone: "zone"
        case .database: "database"
        }
    }

    /// Where CloudKit lets such subscriptions live (CKQuerySubscription.h and CKRecordZoneSubscription.h: not in a
    /// shared database; CKDatabaseSubscription.h: private and shared only; a zone subscription needs a zone with a change
    /// feed, which only custom zones of the private database have).
    var scopes: [DatabaseScope] {
        switch self {
        case .query: [.public, .private]
        case .zone: [.private]
        case .database: [.private, .shared]
        }
    }
}
