import JSON

extension Clause {
    /// The result of a comparison, with the reason if it is false.
    package enum Verdict: Sendable {
        case holds, fails, fieldMissing, typeDiffers
    }

    /// - Parameter field: The record's field dictionary; nil if the record does not have the field.
    package func verdict(on field: JSONValue?) -> Verdict {
        guard let field else { return .fieldMissing }
        return switch allowed(by: field) {
        case .all: verdict(of: FieldView(field: field))
        case .some(let clause): clause.verdict(of: FieldView(field: field))
        case .none: .typeDiffers
        }
    }

    fileprivate func verdict(of view: FieldView) -> Verdict {
        guard let outcome = compare(view) else { return .typeDiffers }
        return outcome != isNegated ? .holds : .fails
    }
}

extension RecordView {
    package func verdict(of clause: Clause) -> Clause.Verdict {
        let clause = clause.at(now)
        return switch clause.subject {
        case .field(let name): clause.verdict(on: fields?.member(name))
        case .system(let field):
            switch field.view(in: record, of: save) {
            case .nothing: .fieldMissing
            case let view: clause.verdict(of: view)
            }
        case .allText: holds(clause) ? .holds : .fails
        }
    }

    /// The JSON of the value that a clause compares; nil if the record does not have the value, and for a search in all
    /// fields.
    package func json(for clause: Clause) -> [UInt8]? {
        switch clause.subject {
        case .field(let name): fields?.member(name)?["value"].map { Array($0.raw) }
        case .system(let field): json(of: field)
        case .allText: nil
        }
    }

    private func json(of field: SystemField) -> [UInt8]? {
        if let value = field.value(in: record) { return Array(value.raw) }
        return switch field.view(in: record, of: save) {
        case .integer(let milliseconds): Array(String(milliseconds).utf8)
        case .reference(let name): Array(name.raw)
        default: nil
        }
    }
}
