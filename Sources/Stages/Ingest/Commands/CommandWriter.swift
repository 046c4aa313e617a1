import CloudKitModel
import Events
import JSON

/// Writes accepted commands: the producer's bytes without `time`, `change` and `participants`, then ingest's additions.
/// ``OperationWriter`` writes the events of a `records.modify`.
enum CommandWriter {
    @inline(__always)
    static func write(_ command: JSONValue, into buffer: inout ByteBuffer) {
        copyOpen(command, into: &buffer)
        buffer.append("}")
    }

    /// - Parameter deleted: The last known version of a deleted record; it provides the members that the command lacks.
    @inline(__always)
    static func write(
        _ command: JSONValue, for participant: JSONValue?, change: RecordChange, deleted: RecordContents? = nil,
        into buffer: inout ByteBuffer
    ) {
        copyOpen(command, for: participant, into: &buffer)
        buffer.append(",\"change\":\"")
        buffer.append(change.word)
        buffer.append("\"")
        if let deleted { write(deleted, missingFrom: command, into: &buffer) }
        buffer.append("}")
    }

    /// Writes the `subscription.delete` that removes the subscription from `database` when a save moves it to another
    /// database.
    static func write(
        deleteOf subscriptionID: JSONValue?, in database: DatabaseScope, for save: JSONValue,
        into buffer: inout ByteBuffer
    ) {
        buffer.begin(event: EventName.subscriptionDelete)
        buffer.append(.container, save[.container])
        buffer.append(.environment, save[.environment])
        buffer.append(",\"database\":\"")
        buffer.append(database.word)
        buffer.append("\"")
        buffer.append(.user, save[.user])
        buffer.append(.subscriptionID, subscriptionID)
        buffer.append("}")
    }

    private static func write(_ last: RecordContents, missingFrom command: JSONValue, into buffer: inout ByteBuffer) {
        if command[.before] == nil {
            buffer.append(member: .before)
            last.fields.withUnsafeBytes { buffer.append($0) }
        }
        guard command[.record]?[.recordType] == nil, command[.recordType] == nil else { return }
        buffer.append(member: .recordType)
        last.recordType.withUnsafeBytes { buffer.appendJSON(utf8: $0) }
    }

    /// Copies the command without `time`, `change` and `participants`, and without its closing brace.
    ///
    /// - Parameter participant: Written as the owner, if the command names participants.
    @inline(__always)
    private static func copyOpen(
        _ command: JSONValue, for participant: JSONValue? = nil, into buffer: inout ByteBuffer
    ) {
        let text = command.raw
        guard command[.time] != nil || command[.change] != nil || participant != nil else {
            return buffer.append(UnsafeRawBufferPointer(rebasing: text[..<(text.count - 1)]))
        }
        copyMembers(of: command, text, into: &buffer)
        buffer.append(.owner, participant)
    }

    /// Copies each member together with the separator before it; the first copied member has no separator.
    private static func copyMembers(
        of command: JSONValue, _ text: UnsafeRawBufferPointer, into buffer: inout ByteBuffer
    ) {
        var (end, isFirst) = (1, true)
        buffer.append("{")
        for (key, value) in command.members {
            let start = isFirst ? key.offset - command.offset : end
            end = value.offset - command.offset + value.raw.count
            if key.equals(.time) || key.equals(.change) || key.equals(.participants) { continue }
            buffer.append(UnsafeRawBufferPointer(rebasing: text[start..<end]))
            isFirst = false
        }
    }
}
