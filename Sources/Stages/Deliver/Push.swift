import EventLog
import JSON
import PipelineKit

/// A `push` event, checked. Views are valid as long as the event.
struct Push {
    /// Container, environment and user, as a key.
    let user: [UInt8]
    let notificationID: JSONValue
    let userName: JSONValue
    let headers: JSONValue
    let payload: JSONValue
    let causes: JSONValue
    /// The user's own device that made the change, if it was one.
    private let origin: JSONValue?

    init(_ event: JSONValue) throws(Rejection) {
        user = try event.userKey()
        userName = try event.required("user", .string, "a text")
        notificationID = try event.required("notificationID", .string, "a text")
        headers = try event.required("headers", .object, "an object")
        payload = try event.required("payload", .object, "an object")
        causes = try event.required("causes", .array, "a list")
        origin = try Self.origin(of: event, user: userName)
        try refuseHeader("apns-id")
        try refuseHeader("apns-topic")
    }

    func isFrom(_ device: Device) -> Bool { origin?.equals(device.name) ?? false }

    private static func origin(of event: JSONValue, user: JSONValue) throws(Rejection) -> JSONValue? {
        guard let origin = event["origin"], !origin.isNull else { return nil }
        guard origin.isObject else {
            throw Rejection(code: "field.type", reason: "origin must be an object", path: "origin")
        }
        guard let name = origin["user"], user.hasSameText(as: name) else { return nil }
        return origin["device"]
    }

    /// Those two are each device's own.
    private func refuseHeader(_ name: StaticString) throws(Rejection) {
        guard headers[name] == nil else {
            throw Rejection(code: "field.unexpected", reason: "deliver writes \(name) itself", path: "headers.\(name)")
        }
    }
}

extension JSONValue {
    fileprivate func hasSameText(as other: JSONValue) -> Bool {
        withUTF8 { mine in other.withUTF8 { mine.isSame(as: $0) } ?? false } ?? false
    }
}

/// Writes the line that transports get: a push for one device, as the contract prints it.
struct PushLine {
    let push: Push

    init(_ push: Push) { self.push = push }

    func delivery(to device: Device, push sequence: UInt64, _ id: PositionID) -> Delivery {
        var line = ByteBuffer(capacity: bytes(for: device))
        line.append("{\"notificationID\":")
        line.append(push.notificationID.raw)
        line.append(",\"user\":")
        line.append(push.userName.raw)
        device.writeNameAndToken(to: &line)
        line.append(",\"headers\":{\"apns-id\":")
        line.appendJSON(id)
        device.writeTopic(to: &line)
        if push.headers.count > 0 { line.append(byte: UInt8(ascii: ",")) }
        let members = push.headers.raw
        line.append(UnsafeRawBufferPointer(rebasing: members[1..<(members.count - 1)]))
        line.append("},\"payload\":")
        line.append(push.payload.raw)
        line.append(",\"causes\":")
        line.append(push.causes.raw)
        line.append(byte: UInt8(ascii: "}"))
        return Delivery(
            id: .init(push: sequence, device: device.name), transport: device.transport, line: Array(line.bytes))
    }

    private func bytes(for device: Device) -> Int {
        let texts = push.notificationID.raw.count + push.userName.raw.count + push.headers.raw.count
        return texts + push.payload.raw.count + push.causes.raw.count + device.textBytes + 160
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
