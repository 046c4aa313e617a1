import CloudKitModel
import Events
import JSON

/// Checks the references with the action `VALIDATE` in a record's fields. Does not look into fields without a type.
///
/// The target of such a reference must exist in the reference's zone. If the reference names no zone, the target must
/// exist in the record's own zone.
struct ReferenceCheck {
    /// A record dictionary that ``OperationCheck`` has accepted.
    let record: JSONValue
    /// Whether the database has a record with a zone and name after the operations so far.
    let exists: (_ zone: JSONValue?, _ name: JSONValue?) -> Bool

    /// - Throws: `reference.missing`. The error's path is relative to the record.
    func callAsFunction() throws(ModelError) {
        guard let fields = record[.fields] else { return }
        try under(.fields) { () throws(ModelError) in
            for (name, field) in fields.members {
                do throws(ModelError) { try check(field) } catch { throw error.under(name.string ?? "") }
            }
        }
    }

    private func check(_ field: JSONValue) throws(ModelError) {
        guard let word = field[.type], let value = field[.value], !value.isNull else { return }
        let type = try FieldType(word)
        guard type.base == .reference else { return }
        try under(.value) { () throws(ModelError) in
            guard type.isList else { return try check(reference: value) }
            var index = 0
            for element in value.elements {
                try under(element: index) { () throws(ModelError) in try check(reference: element) }
                index += 1
            }
        }
    }

    private func check(reference: JSONValue) throws(ModelError) {
        guard reference[.action]?.equals("VALIDATE") ?? false else { return }
        guard !exists(reference[.zoneID] ?? record[.zoneID], reference[.recordName]) else { return }
        throw ModelError(
            "reference.missing", at: "recordName",
            "record \"\(reference[.recordName]?.string ?? "")\" does not exist, and VALIDATE needs it: create it first")
    }
}
