import JSON
import Predicates

/// Finds the subscriptions that watch a change. Has no index, so it evaluates every subscription for every change.
struct PlainEvaluator {
    /// The subscriptions in the order in which they were saved.
    private(set) var saved: [DrawnSubscription] = []

    mutating func save(_ subscription: DrawnSubscription) {
        delete(subscription.identity)
        saved.append(subscription)
    }

    mutating func delete(_ identity: String) { saved.removeAll { $0.identity == identity } }

    /// The subscriptions that watch a change, in the order of their saves. Removes those of them that fire only once.
    mutating func watchers(of change: DrawnChange) throws -> [DrawnSubscription] {
        let found = try change.withRecord { record, fields in
            saved.filter { subscription in
                subscription.watchesIgnoringPredicate(change)
                    && PlainPredicate(predicate: subscription.predicate).holds(fields, of: record)
            }
        }
        for subscription in found where subscription.firesOnce { delete(subscription.identity) }
        return found
    }
}

extension DrawnChange {
    /// Calls `body` with the record that predicates see, and its fields.
    fileprivate func withRecord<Result>(_ body: (JSONValue, JSONValue?) throws -> Result) throws -> Result {
        try withJSON(line) { event in
            try withJSON(recordWithSystemFields) { record in
                try body(record, action == "delete" ? event["before"] : record["fields"])
            }
        }
    }
}

extension DrawnSubscription {
    /// Whether the subscription would watch the change if it had no predicate.
    fileprivate func watchesIgnoringPredicate(_ change: DrawnChange) -> Bool {
        place == change.place
            && (place.database == "public" || user == change.owner)
            && (recordType == nil || recordType == change.recordType)
            && (isDatabase ? change.zone != "_defaultZone" : zone == nil || zone == change.zone)
            && firesOn.contains(change.action)
    }
}

/// Counts the parts of predicates that took part in a match: comparators, kinds of values, system fields, `self`, OR
/// and comparisons that ignore case.
struct Coverage {
    private var counts: [String: Int] = [:]

    /// Counts the true comparisons of a matching predicate, and its ORs.
    mutating func add(_ subscription: DrawnSubscription, _ change: DrawnChange) throws {
        try change.withRecord { record, fields in
            let view = RecordView(record: record, fields: fields)
            for clause in subscription.predicate.clauses { count(clause, view) }
            for alternative in subscription.predicate.alternatives { count(alternative, view) }
        }
    }

    private mutating func count(_ condition: Condition, _ view: RecordView) {
        switch condition {
        case .clause(let clause): count(clause, view)
        case .all(let parts): for part in parts { count(part, view) }
        case .any(let parts):
            counts["OR", default: 0] += 1
            for part in parts { count(part, view) }
        }
    }

    private mutating func count(_ clause: Clause, _ view: RecordView) {
        guard view.holds(clause) else { return }
        counts["\(clause.isNegated ? "not " : "")\(name(of: clause.comparator))", default: 0] += 1
        if clause.foldsCase { counts["regardless of case", default: 0] += 1 }
        switch clause.subject {
        case .field: break
        case .system(let field): counts[field.rawValue, default: 0] += 1
        case .allText: counts["self", default: 0] += 1
        }
        for value in clause.values { counts["value: \(name(of: value))", default: 0] += 1 }
    }

    private func name(of comparator: Clause.Comparator) -> String {
        if case .every(let test) = comparator { return "every \(test)" }
        return "\(comparator)"
    }

    private func name(of value: FieldValue) -> String {
        switch value {
        case .text: "text"
        case .integer: "integer"
        case .double: "double"
        case .reference: "reference"
        case .bytes: "bytes"
        case .circle: "circle"
        case .now: "now"
        }
    }

    mutating func merge(_ other: Coverage) { counts.merge(other.counts) { $0 + $1 } }

    /// The expected parts of predicates that took part in no match.
    var missing: [String] { Self.expected.filter { counts[$0] == nil } }

    private static let expected: [String] = {
        let orders = ["lessThan", "lessThanOrEquals", "greaterThan", "greaterThanOrEquals"]
        let negatable = [
            "equals", "isIn", "beginsWith", "listContains", "listContainsAny", "listContainsAll",
            "listMemberBeginsWith",
        ]
        let every = (["equals", "isIn", "beginsWith"] + orders).map { "every \($0)" }
        return orders + negatable + negatable.map { "not \($0)" } + every
            + ["not every equals", "exists", "isNear", "containsAnyWord", "containsAllWords", "self", "OR"]
            + ["regardless of case"] + SystemField.allCases.map(\.rawValue)
            + ["text", "integer", "double", "reference", "bytes", "circle"].map { "value: \($0)" }
    }()
}
