import JSON

extension Clause {
    /// What came of a comparison, with the reasons for false told apart.
    package enum Verdict: Sendable {
        case holds, fails, fieldMissing, typeDiffers
    }

    /// - Parameter field: The record's field dictionary; nil where the record has none of that name.
    package func verdict(on field: JSONValue?) -> Verdict {
        guard let field else { return .fieldMissing }
        guard let outcome = compare(FieldView(field: field)) else { return .typeDiffers }
        return outcome != isNegated ? .holds : .fails
    }

    /// As it would stand in a predicate's text. Strings that ignore case stand in lower case.
    package var text: String {
        guard isNegated else { return comparison }
        return comparator == .equals ? "\(field) != \(list)" : "NOT \(comparison)"
    }

    private var comparison: String {
        switch comparator {
        case .equals: "\(field) == \(list)"
        case .lessThan: "\(field) < \(list)"
        case .lessThanOrEquals: "\(field) <= \(list)"
        case .greaterThan: "\(field) > \(list)"
        case .greaterThanOrEquals: "\(field) >= \(list)"
        case .isIn: "\(field) IN {\(list)}"
        case .beginsWith: "\(field) BEGINSWITH \(list)"
        case .listContains: "\(field) CONTAINS \(list)"
        case .listContainsAny: "ANY \(field) IN {\(list)}"
        case .listContainsAll: "\(field) CONTAINS ALL {\(list)}"
        case .listMemberBeginsWith: "ANY \(field) BEGINSWITH \(list)"
        }
    }

    private static let listedMax = 20

    private var list: String {
        let more = values.count > Clause.listedMax ? ", … \(values.count - Clause.listedMax) more" : ""
        return values.prefix(Clause.listedMax).map(\.text).joined(separator: ", ") + more
    }
}

extension FieldValue {
    fileprivate var text: String {
        switch self {
        case .text(let bytes): "'\(FieldValue.escaped(bytes))'"
        case .integer(let number): "\(number)"
        case .double(let number): "\(number)"
        case .reference(let bytes): "reference '\(FieldValue.escaped(bytes))'"
        }
    }

    private static func escaped(_ bytes: [UInt8]) -> String {
        String(decoding: bytes, as: UTF8.self).replacing("\\", with: "\\\\").replacing("'", with: "\\'")
    }
}
