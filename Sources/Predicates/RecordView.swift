import JSON

/// The parts of a record that a predicate compares. Valid while their JSON is valid.
package struct RecordView {
    /// The record dictionary with the system fields.
    package let record: JSONValue?
    /// The field dictionaries. For a delete, the last known field dictionaries.
    package let fields: JSONValue?
    /// The value of `now()` in milliseconds since 1970; if it is nil, no comparison with `now()` holds.
    package let now: Int64?

    package init(record: JSONValue?, fields: JSONValue?, now: Int64? = nil) {
        (self.record, self.fields, self.now) = (record, fields, now)
    }

    package func holds(_ clause: Clause) -> Bool {
        let clause = clause.at(now)
        return switch clause.subject {
        case .field(let name): fields?.member(name).map { clause.holds(forField: $0) } ?? false
        case .system(let field): clause.holds(for: field.view(in: record))
        case .allText: clause.holdsForWords(of: fields)
        }
    }

    package func holds(_ condition: Condition) -> Bool {
        switch condition {
        case .clause(let clause): holds(clause)
        case .all(let parts): parts.allSatisfy { holds($0) }
        case .any(let parts): parts.contains { holds($0) }
        }
    }

    /// - Parameter check: Called before each comparison. An error that it throws ends the evaluation.
    func holds(_ condition: Condition, check: () throws -> Void) throws -> Bool {
        switch condition {
        case .clause(let clause):
            try check()
            return holds(clause)
        case .all(let parts): return try parts.allSatisfy { try holds($0, check: check) }
        case .any(let parts): return try parts.contains { try holds($0, check: check) }
        }
    }
}
