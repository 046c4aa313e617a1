import Foundation

@testable import Bench

/// Finds the pairs of a workload: each change with each subscription that watches it. Tests every subscription against
/// every change, without code of the match stage.
///
/// Supports only what workloads contain: two databases, and no system fields, text search or distances.
struct MatchOracle {
    private struct Subscription {
        let id: String
        let type: String
        let database: String
        let user: String
        let zone: String?
        let recordType: String?
        let firesOn: Set<String>
        let clauses: [(field: String, comparator: String, value: Value)]
    }

    private struct Change {
        let action: String
        let database: String
        let owner: String
        let zone: String
        let recordType: String
        let fields: [String: Value]
    }

    /// A `Double` represents all integers of a workload exactly.
    private enum Value: Equatable {
        case text(String)
        case number(Double)
        case list([Value])
    }

    private let subscriptions: [Subscription]
    private let changes: [Change]

    init(_ subscriptions: MatchInput, _ changes: MatchInput) throws {
        self.subscriptions = try MatchOracle.objects(subscriptions).map(MatchOracle.subscription)
        self.changes = try MatchOracle.objects(changes).map(MatchOracle.change)
    }

    /// Lines `<index of the change> <subscriptionID>`, sorted by index, then by ID.
    var pairs: [String] {
        changes.enumerated().flatMap { index, change in
            subscriptions.filter { watches($0, change) }.map(\.id).sorted().map { "\(index) \($0)" }
        }
    }

    private func watches(_ subscription: Subscription, _ change: Change) -> Bool {
        guard subscription.database == change.database,
            change.database == "public" || subscription.user == change.owner,
            subscription.recordType == nil || subscription.recordType == change.recordType
        else { return false }
        if subscription.type == "database" { return change.zone != "_defaultZone" }
        guard subscription.zone == nil || subscription.zone == change.zone else { return false }
        guard subscription.type == "query" else { return true }
        return subscription.firesOn.contains(change.action)
            && subscription.clauses.allSatisfy { clause in
                change.fields[clause.field].map { MatchOracle.holds($0, clause.comparator, clause.value) } ?? false
            }
    }

    private static func holds(_ field: Value, _ comparator: String, _ value: Value) -> Bool {
        switch (comparator, field, value) {
        case ("EQUALS", _, _): field == value
        case ("NOT_EQUALS", _, _): field != value
        case ("LESS_THAN", .number(let left), .number(let right)): left < right
        case ("LESS_THAN_OR_EQUALS", .number(let left), .number(let right)): left <= right
        case ("GREATER_THAN", .number(let left), .number(let right)): left > right
        case ("GREATER_THAN_OR_EQUALS", .number(let left), .number(let right)): left >= right
        case ("IN", _, .list(let values)): values.contains(field)
        case ("NOT_IN", _, .list(let values)): !values.contains(field)
        case ("BEGINS_WITH", .text(let text), .text(let start)): text.hasPrefix(start)
        case ("LIST_CONTAINS", .list(let elements), _): elements.contains(value)
        case ("LIST_CONTAINS_ANY", .list(let elements), .list(let values)):
            values.contains { elements.contains($0) }
        case ("LIST_CONTAINS_ALL", .list(let elements), .list(let values)):
            values.allSatisfy { elements.contains($0) }
        default: preconditionFailure("the oracle cannot compare \(field) with \(value) by \(comparator)")
        }
    }
}

// MARK: - Reading

extension MatchOracle {
    private typealias Object = [String: Any]

    private static func objects(_ input: MatchInput) throws -> [Object] {
        var objects: [Object] = []
        try input.readLines { objects.append(try JSONSerialization.jsonObject(with: Data($1)) as? Object ?? [:]) }
        return objects
    }

    private static func subscription(_ command: Object) -> Subscription {
        let body = object(command["subscription"])
        let query = object(body["query"])
        let filters = query["filterBy"] as? [Object] ?? []
        return Subscription(
            id: text(body["subscriptionID"]), type: text(body["subscriptionType"]), database: text(command["database"]),
            user: text(command["user"]), zone: body["zoneWide"] as? Bool == true ? nil : zone(body),
            recordType: (query["recordType"] ?? body["recordType"]) as? String,
            firesOn: Set(body["firesOn"] as? [String] ?? []),
            clauses: filters.map {
                (text($0["fieldName"]), text($0["comparator"]), value(object($0["fieldValue"])["value"]))
            })
    }

    private static func change(_ command: Object) -> Change {
        let record = object(command["record"])
        let isDelete = text(command["type"]) == "record.delete"
        let fields = object(isDelete ? command["before"] : record["fields"])
        return Change(
            action: isDelete ? "delete" : text(command["change"]), database: text(command["database"]),
            owner: text(command["owner"]), zone: zone(record), recordType: text(record["recordType"]),
            fields: fields.mapValues { value(object($0)["value"]) })
    }

    private static func zone(_ holder: Object) -> String {
        object(holder["zoneID"])["zoneName"] as? String ?? "_defaultZone"
    }

    private static func object(_ value: Any?) -> Object { value as? Object ?? [:] }

    private static func text(_ value: Any?) -> String { value as? String ?? "" }

    private static func value(_ json: Any?) -> Value {
        if let text = json as? String { return .text(text) }
        if let list = json as? [Any] { return .list(list.map { value($0) }) }
        if let reference = json as? Object { return .text(text(reference["recordName"])) }
        return .number((json as? NSNumber)?.doubleValue ?? .nan)
    }
}
