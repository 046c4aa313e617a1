import Events
import JSON
import PipelineKit
import Predicates

/// Parses `subscription.save` and `subscription.delete`.
enum SubscriptionReader {
    static let defaultZone = Array("_defaultZone".utf8)

    /// - Parameters:
    ///   - holder: The object that contains the member `subscriptionID`.
    ///   - prefix: The path of `holder` with a dot at its end, such as `subscription.`; empty for the event itself.
    static func identity(
        of event: JSONValue, subscriptionIDIn holder: JSONValue, at prefix: StaticString
    ) throws(Rejection) -> Subscription.Identity {
        Subscription.Identity(
            container: try event.text(.container),
            environment: try event.text(.environment),
            database: try event.database(),
            user: try event.text(.user),
            subscriptionID: try holder.text(.subscriptionID, in: prefix))
    }

    static func subscription(
        _ json: JSONValue, _ settings: MatchSettings = MatchSettings()
    ) throws(Rejection) -> Subscription {
        let body = try json.object(.subscription)
        let type = try subscriptionType(body)
        let query = try type == .query ? body.object(.query, in: "subscription.") : nil
        return Subscription(
            event: json,
            identity: try identity(of: json, subscriptionIDIn: body, at: "subscription."),
            subscriptionType: type,
            recordType: try recordType(body, query, settings),
            zone: try zone(body, type),
            firesOn: try type == .query ? firesOn(body) : .any,
            firesOnce: type == .query ? try body.flag(.firesOnce, in: "subscription.") : false,
            predicate: try query.map { query throws(Rejection) in try predicate(query) } ?? .always,
            notificationInfo: try body.given(.notificationInfo) == nil
                ? nil : body.object(.notificationInfo, in: "subscription."))
    }

    /// The type of the subscription. MistKit writes a database subscription as a zone subscription with `zoneWide`.
    private static func subscriptionType(_ body: JSONValue) throws(Rejection) -> Subscription.SubscriptionType {
        let type = try body.text(.subscriptionType, in: "subscription.")
        if type.equals("query") { return .query }
        if type.equals("database") { return .database }
        guard type.equals("zone") else {
            throw Rejection(
                code: "field.invalid",
                reason: "subscriptionType must be \"query\", \"zone\" or \"database\", not \"\(type.printable)\"",
                path: "subscription.subscriptionType")
        }
        return try body.flag(.zoneWide, in: "subscription.") ? .database : .zone
    }

    private static func recordType(
        _ body: JSONValue, _ query: JSONValue?, _ settings: MatchSettings
    ) throws(Rejection) -> JSONValue? {
        if let query { return try query.text(.recordType, in: "subscription.query.") }
        guard settings.strictRecordType == .narrow else { return nil }
        return try body.given(.recordType) == nil ? nil : body.text(.recordType, in: "subscription.")
    }

    private static func zone(
        _ body: JSONValue, _ type: Subscription.SubscriptionType
    ) throws(Rejection) -> Subscription.Zone {
        if type == .database { return .all }
        if try body.flag(.zoneWide, in: "subscription.") { return .all }
        guard body.given(.zoneID) != nil else { return .one(nil) }
        return .one(try body.object(.zoneID, in: "subscription.").text(.zoneName, in: "subscription.zoneID."))
    }

    private static func firesOn(_ body: JSONValue) throws(Rejection) -> Reason {
        guard let list = body.given(.firesOn) else { throw JSONValue.missing("subscription.firesOn") }
        var reasons: Reason = []
        for element in list.elements {
            guard let reason = Reason(element) else {
                let found = element.isString ? "\"\(element.printable)\"" : element.kindName
                throw invalidFiresOn("contains \(found)")
            }
            reasons.insert(reason)
        }
        guard !reasons.isEmpty else { throw invalidFiresOn(list.isArray ? "is empty" : "is \(list.kindName)") }
        return reasons
    }

    private static func invalidFiresOn(_ found: String) -> Rejection {
        Rejection(
            code: "field.invalid",
            reason: "firesOn \(found): it must be an array of one or more of \"create\", \"update\" and \"delete\"",
            path: "subscription.firesOn")
    }
}

// MARK: - Predicates

extension SubscriptionReader {
    /// Reads `filterBy` or `predicate`. A query that has neither member matches all records of its type.
    ///
    /// Always accepts the extended dialect. The ingest stage has already rejected each predicate that its settings
    /// forbid, and an old log may contain predicates that the current settings would forbid.
    private static func predicate(_ query: JSONValue) throws(Rejection) -> RecordPredicate {
        guard query.given(.filterBy) == nil || query.given(.predicate) == nil else {
            throw Rejection(
                code: "field.invalid", reason: "the query has both filterBy and predicate: remove one of them",
                path: "subscription.query.predicate")
        }
        do {
            return try PredicateReader(.extended).read(query: query, warns: false).predicate
        } catch {
            throw Rejection(
                code: error.code, reason: error.queryReason(in: query), path: "subscription.query.\(error.queryPath)")
        }
    }
}
