import CloudKitModel
import Events
import JSON

/// Checks the references with the action `VALIDATE` in a record's fields, also in fields without a type: see
/// ``Reference/isAllowed(in:)``.
///
/// The target of such a reference must exist in the reference's zone. If the reference names no zone, the target must
/// exist in the record's own zone.
struct ReferenceCheck {
    /// A record dictionary that ``OperationCheck`` has accepted.
    let record: JSONValue
    /// Whether the database has a record with this zone and name after the operations so far.
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
        guard let value = field[.value], value.isObject || value.isArray, Reference.isAllowed(in: field) else { return }
        try under(.value) { () throws(ModelError) in
            guard value.isArray else { return try check(reference: value) }
            var index = 0
            // The elements of a list have one kind.
            for element in value.elements {
                guard element.isObject else { return }
                try under(element: index) { () throws(ModelError) in try check(reference: element) }
                index += 1
            }
        }
    }

    private func check(reference: JSONValue) throws(ModelError) {
        guard let name = reference[.recordName], reference[.action]?.equals("VALIDATE") ?? false else { return }
        guard !exists(reference[.zoneID] ?? record[.zoneID], name) else { return }
        throw ModelError(
            "reference.missing", at: "recordName",
            "record \"\(name.string ?? "")\" does not exist, and VALIDATE needs it: create it first")
    }
}
