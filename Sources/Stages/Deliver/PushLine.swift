import Events
import JSON
import PipelineKit
import Time

/// Writes the line that a transport gets for each device of a push. The lines share the memory of their common part.
struct PushLine: ~Escapable {
    let push: Push
    /// The end of a line, from the push's headers on.
    private struct End {
        /// The offset of the payload in the event.
        let payload: Int
        let bytes: [UInt8]
    }

    private var end: End?
    /// More ends, one for each further payload: topics with badges of their own have payloads of their own.
    private var otherEnds: [End] = []

    let unpruned: [UInt8]?

    @_lifetime(copy push)
    init(_ push: Push) {
        self.push = push
        unpruned = push.unpruned.map { Array($0.raw) }
    }

    mutating func delivery(to device: Device, push sequence: UInt64, _ id: PositionID) -> Delivery {
        Delivery(
            push: sequence, at: device, head: Self.head(push.notificationID.raw, push.userName.raw, device, id),
            rest: end(with: push.payload(for: device)), unpruned: unpruned)
    }

    /// The beginning of the line, including the headers that differ for each device.
    private static func head(
        _ notificationID: UnsafeRawBufferPointer, _ user: UnsafeRawBufferPointer, _ device: Device, _ id: PositionID
    ) -> [UInt8] {
        var line = ByteBuffer(capacity: notificationID.count + user.count + device.textBytes + 96)
        line.append("{\"notificationID\":")
        line.append(notificationID)
        line.append(member: .user)
        line.append(user)
        device.writeNameAndToken(to: &line)
        line.append(",\"headers\":{\"apns-id\":")
        line.appendJSON(id)
        device.writeTopic(to: &line)
        return Array(line.bytes)
    }

    /// The head for a newer registration of the push's device, with the notification and the user of `line`. Nil if the
    /// line is not a push.
    static func head(of line: [UInt8], for device: Device, _ id: PositionID) -> [UInt8]? {
        var reader = PushReader()
        do throws(JSONError) {
            return try reader.read(line, []) { push in
                guard let notificationID = push.notificationID?.value, let user = push.user?.value else { return nil }
                return head(notificationID.raw, user.raw, device, id)
            }
        } catch { return nil }
    }

    private mutating func end(with payload: JSONValue) -> [UInt8] {
        if let end, end.payload == payload.offset { return end.bytes }
        if let end = otherEnds.first(where: { $0.payload == payload.offset }) { return end.bytes }
        let end = End(payload: payload.offset, bytes: makeEnd(with: payload))
        if self.end == nil { self.end = end } else { otherEnds.append(end) }
        return end.bytes
    }

    private func makeEnd(with payload: JSONValue) -> [UInt8] {
        let headers = push.headers.raw
        var line = ByteBuffer(capacity: headers.count + payload.raw.count + push.causes.raw.count + 32)
        if push.headers.count > 0 { line.append(byte: UInt8(ascii: ",")) }
        line.append(UnsafeRawBufferPointer(rebasing: headers[1..<(headers.count - 1)]))
        line.append("},\"payload\":")
        line.append(payload.raw)
        line.append(.causes, push.causes)
        line.append(byte: UInt8(ascii: "}"))
        return Array(line.bytes)
    }
}

extension Delivery {
    init(push: UInt64, at device: Device, head: [UInt8], rest: [UInt8], unpruned: [UInt8]? = nil) {
        self.init(
            id: ID(push: push, device: device.name), transport: device.transport, app: device.app,
            destination: device.identityHash, head: head, rest: rest, unpruned: unpruned)
    }
}

extension ByteBuffer {
    /// Appends the identifier as a JSON string.
    @inline(__always)
    mutating func appendJSON(_ id: PositionID) {
        append(byte: UInt8(ascii: "\""))
        withUnsafeTemporaryAllocation(byteCount: PositionID.textBytes, alignment: 1) { text in
            id.writeUUID(into: text.baseAddress.unsafelyUnwrapped)
            append(UnsafeRawBufferPointer(text))
        }
        append(byte: UInt8(ascii: "\""))
    }
}
