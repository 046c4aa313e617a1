import EventLog
import JSON
import Predicates

/// Writes `match` events: what is the change's, around what was prepared when the subscription was saved.
struct MatchWriter {
    let change: Change
    /// Shared by all matches of one change, as CloudKit's pushes share `nid`.
    let notificationID: PositionID

    @inline(__always)
    func write(
        _ stored: SubscriptionIndex.Stored, _ fields: borrowing FieldTable, to buffer: inout ByteBuffer
    ) {
        buffer.append("{\"type\":\"match\",\"change\":")
        buffer.appendJSON(change.sequence)
        buffer.append(",\"notificationID\":\"")
        buffer.append(notificationID)
        buffer.append("\",")
        stored.subscription.head.withUnsafeBytes { buffer.append($0) }
        writeChange(to: &buffer)
        writeFields(stored.copied, fields, to: &buffer)
        writeNotificationInfo(stored.subscription, to: &buffer)
        buffer.append("}")
    }

    @inline(__always)
    private func writeChange(to buffer: inout ByteBuffer) {
        buffer.append(",\"reason\":\"")
        buffer.append(change.reason.word)
        buffer.append("\",\"recordName\":")
        buffer.append(change.recordName.raw)
        if let recordType = change.recordType {
            buffer.append(",\"recordType\":")
            buffer.append(recordType.raw)
        }
        buffer.append(",\"zoneID\":{\"zoneName\":")
        buffer.append(change.zone.name, else: "\"_defaultZone\"")
        buffer.append(",\"ownerRecordName\":")
        buffer.append(change.zone.owner ?? change.owner, else: "\"_defaultOwner\"")
        buffer.append("}")
        if let origin = change.origin {
            buffer.append(",\"origin\":")
            buffer.append(origin.raw)
        }
    }

    @inline(__always)
    private func writeNotificationInfo(_ subscription: borrowing Subscription, to buffer: inout ByteBuffer) {
        guard let range = subscription.notificationInfo else { return }
        buffer.append(",\"notificationInfo\":")
        subscription.text.withUnsafeBytes { buffer.append(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    /// Fields that the record lacks are left out; so is `fields` when none is there.
    private func writeFields(
        _ copied: [SubscriptionIndex.CopiedField], _ fields: borrowing FieldTable, to buffer: inout ByteBuffer
    ) {
        var isFirst = true
        for field in copied where field.isForDeletes || change.reason != .delete {
            guard let cell = fields[field.symbol] else { continue }
            buffer.append(isFirst ? ",\"fields\":{" : ",")
            field.key.withUnsafeBytes { buffer.append($0) }
            buffer.append(byte: UInt8(ascii: ":"))
            buffer.append(cell.field.raw)
            isFirst = false
        }
        if !isFirst { buffer.append("}") }
    }
}

extension ByteBuffer {
    /// Appends `"key":value,`; nothing where there is no value.
    mutating func appendMember(_ key: StaticString, _ value: JSONValue?) {
        guard let value else { return }
        append(byte: UInt8(ascii: "\""))
        append(key)
        append("\":")
        append(value.raw)
        append(byte: UInt8(ascii: ","))
    }

    fileprivate mutating func append(_ value: JSONValue?, else standard: StaticString) {
        if let value { append(value.raw) } else { append(standard) }
    }

    fileprivate mutating func append(_ id: PositionID) {
        withUnsafeTemporaryAllocation(byteCount: PositionID.textBytes, alignment: 8) { text in
            guard let start = text.baseAddress else { return }
            id.writeUUID(into: start)
            append(UnsafeRawBufferPointer(text))
        }
    }
}
