import Events
import JSON
import PipelineKit
import Predicates

/// Parses `subscription.save` and `subscription.delete`.
enum SubscriptionReader {
    static let defaultZone = Array("_defaultZone".utf8)

    /// - Parameter holder: The object that contains the member `subscriptionID`.
    static func identity(
        _ json: JSONValue, _ holder: JSONValue, _ place: StaticString
    ) throws(Rejection) -> Subscription.Identity {
        Subscription.Identity(
            container: try json.text(.container),
            environment: try json.text(.environment),
            database: try json.database(),
            user: try json.text(.user),
            subscriptionID: try holder.text(.subscriptionID, in: place))
    }

    static func subscription(
        _ json: JSONValue, _ settings: MatchSettings = MatchSettings()
    ) throws(Rejection) -> Subscription {
        let body = try json.object(.subscription)
        let subject = try subject(body)
        let query = try subject == .query ? body.object(.query, in: "subscription.") : nil
        return Subscription(
            event: json,
            identity: try identity(json, body, "subscription."),
            subject: subject,
            recordType: try recordType(body, query, settings),
            zone: try zone(body, subject),
            firesOn: try subject == .query ? firesOn(body) : .any,
            firesOnce: subject == .query ? try body.flag(.firesOnce, in: "subscription.") : false,
            predicate: try query.map { query throws(Rejection) in try predicate(query) } ?? .always,
            notificationInfo: try body.given(.notificationInfo) == nil
                ? nil : body.object(.notificationInfo, in: "subscription."))
    }

    /// The kind of subscription. MistKit writes a database subscription as a zone subscription with `zoneWide`.
    private static func subject(_ body: JSONValue) throws(Rejection) -> Subscription.Subject {
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
        _ body: JSONValue, _ subject: Subscription.Subject
    ) throws(Rejection) -> Subscription.Zone {
        if subject == .database { return .all }
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
    /// Always accepts the extended dialect. The ingest stage has already rejected each predicate that its settings forbid,
    /// and an old log may contain predicates that the present settings would forbid.
    private static func predicate(_ query: JSONValue) throws(Rejection) -> RecordPredicate {
        guard query.given(.filterBy) == nil || query.given(.predicate) == nil else {
            throw Rejection(
                code: "field.invalid", reason: "a query has filterBy, or a predicate as text, not both",
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
