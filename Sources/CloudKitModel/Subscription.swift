import Events
import JSON

/// A view of a checked subscription dictionary.
package struct Subscription {
    /// What a subscription watches. A dictionary of the type `zone` with `zoneWide` and without a zone is a database
    /// subscription.
    package enum Form: Sendable { case query, zone, database }

    package let form: Form
    package let subscriptionID: JSONValue
    /// The record type that the subscription names; nil if it names no type. With `strictRecordType: ignore`, match
    /// ignores the type that a zone or database subscription names.
    package let recordType: JSONValue?
    /// The zone that the subscription watches; nil if it names no zone. A query without a zone watches the default
    /// zone, or all zones if it is ``zoneWide``.
    package let zoneID: ZoneID?
    /// Whether the subscription asks for all zones. A database subscription need not ask: it watches all zones except
    /// the default zone.
    package let zoneWide: Bool
    package let firesOnce: Bool
    /// Only for ``Form/query``. The `Predicates` module checks its `filterBy` and `predicate`.
    package let query: JSONValue?
    package let notificationInfo: JSONValue?

    private static let keys: [Member] = [
        .subscriptionID, .subscriptionType, .query, .firesOn, .firesOnce, .zoneID, .zoneWide, .recordType,
        .notificationInfo,
    ]
    private static let types: [StaticString] = ["query", "zone", "database"]

    /// - Parameter allowsAnyScope: Whether every form is accepted in every database, and a zone subscription may watch
    ///   the default zone, unlike in CloudKit.
    /// - Throws: `member.*`, `name.*`, `word.unknown`, `subscription.fires_on`, `subscription.fires_once`,
    ///   `subscription.scope` or `subscription.zone`, and the errors of ``NotificationInfo`` and ``ZoneID``.
    package init(_ json: JSONValue, in scope: DatabaseScope, allowsAnyScope: Bool = false) throws(ModelError) {
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
        try SubscriptionRules(subscription: self, json: json).check(in: scope, allowsAnyScope: allowsAnyScope)
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
    /// The databases in which CloudKit allows subscriptions of this form.
    ///
    /// CKQuerySubscription.h and CKRecordZoneSubscription.h exclude the shared database. CKDatabaseSubscription.h
    /// allows only the private and the shared database. A zone subscription needs a zone with a change feed, and the
    /// public database has no such zone.
    var scopes: [DatabaseScope] {
        switch self {
        case .query: [.public, .private]
        case .zone: [.private]
        case .database: [.private, .shared]
        }
    }
}
