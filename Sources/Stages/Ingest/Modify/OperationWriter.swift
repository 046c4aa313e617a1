import CloudKitModel
import Events
import JSON

/// Writes the event of one operation of a `records.modify`.
struct OperationWriter {
    /// The member of a record that names another record as its parent. Belfry keeps the parent for clients, but does
    /// not use it.
    static let parent: Member = "parent"
    /// The member of a record that says when and by whom it was created.
    private static let created: Member = "created"

    let command: JSONValue
    let record: JSONValue
    let type: OperationType
    /// Whether the record existed before the operation.
    let isKnown: Bool
    /// The contents of the record before the operation, if ``needsContents``.
    var contents: RecordContents?

    /// Whether the event repeats parts of the record as it was before the operation.
    var needsContents: Bool { isKnown && (type.isDelete || type.mergesFields || record[.recordType] == nil) }

    /// - Returns: The size of the record in bytes, without up to 1,000 bytes of its `created`.
    func write(into buffer: inout ByteBuffer) -> Int {
        begin(type.isDelete ? EventName.recordDelete : EventName.recordSave, into: &buffer)
        let bytes = writeRecord(into: &buffer)
        let change: RecordChange = type.isDelete ? .delete : isKnown ? .update : .create
        buffer.append(.change, word: change.word)
        if type.isDelete { writeDeletedContents(into: &buffer) }
        buffer.append(.request, command[.request])
        buffer.append("}")
        return bytes
    }

    private func begin(_ event: StaticString, into buffer: inout ByteBuffer) {
        buffer.begin(event: event)
        for member: Member in [.container, .environment, .database, .owner] { buffer.append(member, command[member]) }
        guard let origin = command[.origin] else { return }
        buffer.append(member: .origin)
        buffer.object { buffer in
            buffer.append(.user, origin[.user])
            buffer.append(.device, origin[.device])
        }
    }

    /// Writes the record without its change tag, and for a delete also without fields. A parent that is null is left
    /// out, which removes the record's parent.
    ///
    /// - Returns: The size of the record in bytes. Up to 1,000 bytes of `created` do not count. The gateway adds this
    ///   member, so otherwise a client could not update a record of the maximum size.
    private func writeRecord(into buffer: inout ByteBuffer) -> Int {
        buffer.append(member: .record)
        let start = buffer.count
        var creationBytes = 0
        buffer.append("{")
        for (key, value) in record.members where !key.equals(.recordChangeTag) && !key.equals(.fields) {
            if value.isNull, key.equals(OperationWriter.parent) { continue }
            let before = buffer.count
            buffer.appendSeparator()
            buffer.append(key.raw)
            buffer.append(":")
            buffer.append(value.raw)
            if key.equals(OperationWriter.created) { creationBytes = min(buffer.count - before, 1_000) }
        }
        if !type.isDelete { writeContents(into: &buffer) }
        buffer.append("}")
        return buffer.count - start - creationBytes
    }

    private func writeContents(into buffer: inout ByteBuffer) {
        writeMissingType(into: &buffer)
        if type.mergesFields, record[OperationWriter.parent] == nil, let parent = contents?.parent {
            buffer.append(member: OperationWriter.parent)
            parent.withUnsafeBytes { buffer.append($0) }
        }
        buffer.append(member: .fields)
        FieldMerge(given: record[.fields], known: type.mergesFields ? contents : nil).write(into: &buffer)
    }

    /// Writes the last known version of a deleted record.
    private func writeDeletedContents(into buffer: inout ByteBuffer) {
        if let contents {
            buffer.append(member: .before)
            contents.fields.withUnsafeBytes { buffer.append($0) }
        }
        writeMissingType(into: &buffer)
    }

    private func writeMissingType(into buffer: inout ByteBuffer) {
        guard record[.recordType] == nil, let contents else { return }
        buffer.append(member: .recordType)
        contents.recordType.withUnsafeBytes { buffer.appendJSON(utf8: $0) }
    }
}
