import Foundation
import JSON

@testable import Predicates

/// A second implementation of predicates for tests, written from the manual. It copies the values of a record before it
/// compares them. It uses the code under test only to find words, text fields and system fields, and to compute
/// distances.
struct PlainPredicate {
    let predicate: RecordPredicate

    func holds(_ fields: JSONValue?, of record: JSONValue?) -> Bool {
        guard !predicate.isNever else { return false }
        return predicate.clauses.allSatisfy { holds($0, fields, record) }
            && predicate.alternatives.allSatisfy { holds($0, fields, record) }
    }

    private func holds(_ condition: Condition, _ fields: JSONValue?, _ record: JSONValue?) -> Bool {
        switch condition {
        case .clause(let clause): holds(clause, fields, record)
        case .all(let parts): parts.allSatisfy { holds($0, fields, record) }
        case .any(let parts): parts.contains { holds($0, fields, record) }
        }
    }

    private func holds(_ clause: Clause, _ fields: JSONValue?, _ record: JSONValue?) -> Bool {
        let field: PlainField
        switch clause.subject {
        case .field(let name): field = PlainField(fields?.member(name))
        case .system(let system): field = PlainField(system, system.value(in: record))
        case .allText: return holdsForWords(clause, fields)
        }
        guard let clause = field.comparable(clause), let outcome = clause.outcome(field) else { return false }
        return outcome != clause.isNegated
    }

    private func holdsForWords(_ clause: Clause, _ fields: JSONValue?) -> Bool {
        var texts: [[UInt8]] = []
        guard let fields else { return false }
        for (_, field) in fields.members where Clause.mayContainWords(field["type"]) {
            texts += PlainField(field).texts
        }
        return clause.hasWords(in: texts)
    }
}

/// A field's value and its declared type.
private struct PlainField {
    var value: PlainValue?
    var list: [PlainValue]?
    var type = ""

    init(_ field: JSONValue?) {
        type = field?["type"]?.string ?? ""
        guard let json = field?["value"] else { return }
        if json.isArray { list = json.elements.map { PlainValue($0) } } else { value = PlainValue(json) }
    }

    /// Treats dates as numbers, and users and records as references.
    init(_ field: SystemField, _ json: JSONValue?) {
        guard let json, field.isDate == json.isNumber, !field.isReference || json.isString else { return }
        value = field.isReference ? .reference(Array((json.string ?? "").utf8)) : PlainValue(json)
    }

    var isMissing: Bool { list == nil && (value == nil || value == .nothing) }

    /// The clause with the values that the field's declared type allows; nil if the type allows no comparison. The type
    /// matters only for bytes and strings. An empty list can be of any type.
    func comparable(_ clause: Clause) -> Clause? {
        let isBytes = type.contains("BYTES")
        guard list != [], isBytes || type.hasPrefix("STRING") else { return clause }
        let allowed = clause.values.filter { isBytes ? !$0.isText : !$0.isBytes }
        if allowed.count == clause.values.count { return clause }
        let isOfType = allowed.contains { isBytes ? $0.isBytes : $0.isText }
        guard isOfType, clause.comparator != .listContainsAll else { return nil }
        return Clause(
            clause.subject, clause.comparator, allowed, foldsCase: clause.foldsCase, isNegated: clause.isNegated)
    }

    var texts: [[UInt8]] {
        (list ?? value.map { [$0] } ?? []).compactMap { if case .text(let text) = $0 { text } else { nil } }
    }
}

private enum PlainValue: Equatable {
    case text([UInt8])
    case integer(Int64)
    case double(Double)
    case reference([UInt8])
    case location(Double, Double)
    /// `nothing` is a Boolean, null or a nested list. `asset` is an object that is neither a reference nor a location.
    case nothing, asset

    init(_ json: JSONValue) {
        if let text = json.string {
            self = .text(Array(text.utf8))
        } else if let number = json.int64 {
            self = .integer(number)
        } else if let number = json.double {
            self = .double(number)
        } else if let name = json["recordName"]?.string {
            self = .reference(Array(name.utf8))
        } else if let latitude = json["latitude"]?.double, let longitude = json["longitude"]?.double {
            self = .location(latitude, longitude)
        } else {
            self = json.isObject ? .asset : .nothing
        }
    }

    var isScalar: Bool {
        switch self {
        case .text, .integer, .double, .reference: true
        default: false
        }
    }

    /// -1, 0 or 1: whether the value is less than, equal to or greater than the other value. Nil if values of the two
    /// types cannot be compared. If `foldsCase` is true, the other value is in lower case already.
    func order(_ other: FieldValue, _ foldsCase: Bool) -> Int? {
        switch (self, other) {
        case (.text(let one), .text(let other)): order(foldsCase ? folded(one) : one, other)
        case (.reference(let one), .reference(let other)): order(one, other)
        case (.text(let one), .bytes(let other)): order(decoded(one), decoded(other))
        case (.integer(let one), .integer(let other)): one == other ? 0 : one < other ? -1 : 1
        case (.double(let one), .double(let other)): one == other ? 0 : one < other ? -1 : 1
        case (.integer(let one), .double(let other)): order(one, other)
        case (.double(let one), .integer(let other)): -order(other, one)
        default: nil
        }
    }

    private func order(_ one: [UInt8], _ other: [UInt8]) -> Int {
        one == other ? 0 : one.lexicographicallyPrecedes(other) ? -1 : 1
    }

    /// Compares decimals, because a decimal represents the integer and the whole part of the double exactly.
    private func order(_ one: Int64, _ other: Double) -> Int {
        guard abs(other) < 1e19 else { return other > 0 ? -1 : 1 }
        let whole = other.rounded(.towardZero)
        let (left, right) = (Decimal(one), Decimal(string: String(format: "%.0f", whole)) ?? 0)
        if left != right { return left < right ? -1 : 1 }
        return whole == other ? 0 : other > whole ? -1 : 1
    }

    private func folded(_ text: [UInt8]) -> [UInt8] {
        String(decoding: text, as: UTF8.self).unicodeScalars.flatMap { Array($0.properties.lowercaseMapping.utf8) }
    }

    private func decoded(_ text: [UInt8]) -> [UInt8] { Data(base64Encoded: Data(text)).map { Array($0) } ?? [] }
}

// MARK: - Comparing

extension Clause {
    /// Whether the clause without its negation is true. If the field is missing or cannot be compared with the values,
    /// the outcome of a search for words is false, and the outcome of any other clause is nil.
    fileprivate func outcome(_ field: PlainField) -> Bool? {
        switch comparator {
        case .equals, .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals, .isIn, .beginsWith:
            return field.value.flatMap { passes(comparator, $0) }
        case .exists: return field.isMissing ? nil : true
        case .isNear:
            guard case .location(let latitude, let longitude)? = field.value, case .circle(let circle)? = values.first
            else {
                return nil
            }
            return circle.contains(latitude: latitude, longitude: longitude)
        case .containsAnyWord, .containsAllWords: return hasWords(in: field.texts)
        default: return field.list.flatMap { outcome(of: $0) }
        }
    }

    private func outcome(of list: [PlainValue]) -> Bool? {
        switch comparator {
        case .listContains: return some(list) { passes(.equals, $0) }
        case .listContainsAny: return some(list) { passes(.isIn, $0) }
        case .listMemberBeginsWith: return some(list) { passes(.beginsWith, $0) }
        case .listContainsAll:
            let outcomes = values.map { value in some(list) { $0.order(value, foldsCase).map { $0 == 0 } } }
            return outcomes.contains(nil) ? nil : !outcomes.contains(false)
        case .every:
            let outcomes = list.map { passes(comparator.element ?? .equals, $0) }
            return !list.isEmpty && outcomes.allSatisfy { $0 == nil } ? nil : outcomes.allSatisfy { $0 == true }
        default: return nil
        }
    }

    /// Whether an element passes the test. Elements that cannot be compared are ignored. Nil if the list has elements,
    /// but all are ignored; false for an empty list.
    private func some(_ list: [PlainValue], _ test: (PlainValue) -> Bool?) -> Bool? {
        let outcomes = list.compactMap(test)
        return outcomes.isEmpty && !list.isEmpty ? nil : outcomes.contains(true)
    }

    private func passes(_ comparator: Comparator, _ value: PlainValue) -> Bool? {
        if comparator == .beginsWith {
            guard case .text(let text) = value, case .text(let prefix)? = values.first else { return nil }
            return text.starts(with: prefix)
        }
        if comparator == .isIn {
            guard value.isScalar else { return nil }
            let orders = values.compactMap { value.order($0, foldsCase) }
            return orders.isEmpty && !values.isEmpty ? nil : orders.contains(0)
        }
        guard let order = values.first.flatMap({ value.order($0, foldsCase) }) else { return nil }
        return switch comparator {
        case .lessThan: order < 0
        case .lessThanOrEquals: order <= 0
        case .greaterThan: order > 0
        case .greaterThanOrEquals: order >= 0
        default: order == 0
        }
    }

    fileprivate func hasWords(in texts: [[UInt8]]) -> Bool {
        let presentWords = Set(texts.flatMap { Words.sought(String(decoding: $0, as: UTF8.self)) })
        guard !values.isEmpty else { return false }
        return comparator == .containsAllWords
            ? values.allSatisfy { presentWords.contains($0) } : values.contains { presentWords.contains($0) }
    }
}
