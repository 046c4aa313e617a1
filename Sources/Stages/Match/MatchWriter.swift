import Events
import JSON
import Predicates
import Time

/// Writes the `match` events of one change.
struct MatchWriter: ~Escapable {
    let change: Change
    /// All matches of a change have the same ID, just as CloudKit's pushes for one change have the same `nid`.
    let notificationID: PositionID
    /// The members that describe the change.
    private let middle: [UInt8]
    /// The members `fields` and `notificationInfo` of the last match that had a notification info. They are kept
    /// because the next match often has the same info, and then the same fields.
    private var end: [UInt8] = []
    /// The number of the notification info in `end`; nil before the first match with a notification info.
    private var endInfo: Int32?

    @_lifetime(copy change)
    init(change: Change, notificationID: PositionID) {
        self.change = change
        self.notificationID = notificationID
        var buffer = ByteBuffer()
        MatchWriter.write(change, to: &buffer)
        middle = unsafe Array(buffer.bytes)
    }

    mutating func write(_ slot: Int32, _ index: borrowing SubscriptionIndex, to buffer: inout ByteBuffer) {
        buffer.begin(event: EventName.match)
        buffer.append(member: .change)
        buffer.appendJSON(change.sequence)
        buffer.append(",\"notificationID\":\"")
        buffer.append(notificationID)
        buffer.append("\",")
        index.writeIdentityAndType(slot, into: &buffer)
        unsafe middle.withUnsafeBytes { unsafe buffer.append($0) }
        let info = index.store[slot].info
        if info != NotificationInfos.none {
            if endInfo != info { prepareEnd(info, index) }
            unsafe end.withUnsafeBytes { unsafe buffer.append($0) }
        }
        buffer.append("}")
    }

    private static func write(_ change: Change, to buffer: inout ByteBuffer) {
        buffer.append(",\"reason\":\"")
        buffer.append(change.reason.word)
        buffer.append("\",\"recordName\":")
        unsafe buffer.append(change.recordName.raw)
        buffer.append(.recordType, change.recordType)
        buffer.append(",\"zoneID\":{\"zoneName\":")
        buffer.append(change.zone.name, else: "\"_defaultZone\"")
        buffer.append(member: .ownerRecordName)
        buffer.append(change.zone.owner ?? change.owner, else: "\"_defaultOwner\"")
        buffer.append("}")
        buffer.append(.origin, change.origin)
    }

    /// Prepares `fields` and `notificationInfo`. Omits fields that the record lacks, and `fields` if it would be empty.
    /// For a delete, also omits fields that are only desired keys.
    private mutating func prepareEnd(_ number: Int32, _ index: borrowing SubscriptionIndex) {
        let info = index.store.infos[number]
        var buffer = ByteBuffer()
        var isFirst = true
        for field in info.copied where field.isAlsoForDeletes || change.reason != .delete {
            guard let value = unsafe field.name.withUnsafeBytes({ unsafe change.fields?.member($0) }) else { continue }
            buffer.append(isFirst ? ",\"fields\":{" : ",")
            unsafe field.key.withUnsafeBytes { unsafe buffer.append($0) }
            unsafe buffer.append(value.raw)
            isFirst = false
        }
        if !isFirst { buffer.append("}") }
        buffer.append(member: .notificationInfo)
        unsafe info.text.withUnsafeBytes { unsafe buffer.append($0) }
        end = unsafe Array(buffer.bytes)
        endInfo = number
    }
}

extension ByteBuffer {
    fileprivate mutating func append(_ value: JSONValue?, else standard: StaticString) {
        if let value { unsafe append(value.raw) } else { append(standard) }
    }

    fileprivate mutating func append(_ id: PositionID) {
        unsafe withUnsafeTemporaryAllocation(byteCount: PositionID.textBytes, alignment: 8) { text in
            guard let start = text.baseAddress else { return }
            unsafe id.writeUUID(into: start)
            unsafe append(UnsafeRawBufferPointer(text))
        }
    }
}
