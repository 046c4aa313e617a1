import CloudKitModel
import Events
import JSON
import PipelineKit

/// Checks an operation against the existing record at its address. The first rule that the operation breaks becomes the
/// error.
struct OperationRules {
    let type: OperationType
    let record: JSONValue
    /// The existing record; nil if no record exists at the address.
    let known: RecordEntry?
    let key: NameFingerprint.Key

    func callAsFunction() throws(ModelError) {
        guard let known else {
            if type.needsChangeTag { throw missing }
            return
        }
        if type == .create { throw exists }
        if type.needsChangeTag { try checkTag(known) }
        if let recordType = record[.recordType], key.fingerprint(ofType: recordType) != known.type { throw otherType }
    }

    private func checkTag(_ known: RecordEntry) throws(ModelError) {
        let currentTag = ChangeTag(sequence: known.sequence).text
        guard let tag = record[.recordChangeTag] else {
            throw conflict("\(type.word) needs the record's change tag: fetch the record and send its recordChangeTag")
        }
        guard tag.equals(currentTag) else {
            let found = (tag.string ?? "").printable
            throw conflict("the change tag of \(name) is \"\(currentTag)\", not \"\(found)\": fetch the record again")
        }
    }

    private var name: String { "record \"\(record[.recordName]?.string ?? "")\"" }

    private var exists: ModelError {
        ModelError("record.exists", at: "recordName", "\(name) exists already: update it, or choose another name")
    }

    private var missing: ModelError {
        ModelError("record.missing", at: "recordName", "\(name) does not exist: create it, or fetch again")
    }

    private func conflict(_ reason: String) -> ModelError {
        ModelError("record.conflict", at: "recordChangeTag", reason)
    }

    private var otherType: ModelError {
        ModelError(
            "record.type", at: "recordType",
            "\(name) exists with another type, and its type cannot change: delete the record first")
    }
}
