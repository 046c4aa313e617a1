import JSON

/// Who saved a record, and when. If the record dictionary lacks the user or the time of the last modification, they are
/// taken from here. If the save created the record, this holds for the creation too. Valid while its JSON is valid.
package struct RecordSave {
    /// The name of the user's record; nil if the user is unknown.
    package let user: JSONValue?
    /// In milliseconds since 1970.
    package let milliseconds: Int64
    /// Whether the save created the record.
    package let isCreate: Bool

    package init(user: JSONValue?, milliseconds: Int64, isCreate: Bool) {
        (self.user, self.milliseconds, self.isCreate) = (user?.isString == true ? user : nil, milliseconds, isCreate)
    }
}

/// The parts of a record that a predicate compares. Valid while their JSON is valid.
package struct RecordView {
    /// The record dictionary with the system fields.
    package let record: JSONValue?
    /// The field dictionaries. For a delete, the last known field dictionaries.
    package let fields: JSONValue?
    /// The value of `now()` in milliseconds since 1970; if it is nil, no comparison with `now()` holds.
    package let now: Int64?
    /// The save of the record; nil for a deleted record, and if it is unknown.
    package let save: RecordSave?

    package init(record: JSONValue?, fields: JSONValue?, now: Int64? = nil, save: RecordSave? = nil) {
        (self.record, self.fields, self.now, self.save) = (record, fields, now, save)
    }

    package func holds(_ clause: Clause) -> Bool {
        let clause = clause.at(now)
        return switch clause.subject {
        case .field(let name): fields?.member(name).map { clause.holds(forField: $0) } ?? false
        case .system(let field): clause.holds(for: field.view(in: record, of: save))
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
