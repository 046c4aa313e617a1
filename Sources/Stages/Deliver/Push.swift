import Events
import JSON
import PipelineKit
import Time

/// A parsed `push` event. Its members, except ``user``, are views into the event.
struct Push: ~Escapable {
    /// A key that consists of container, environment and user.
    let user: [UInt8]
    let notificationID: JSONValue
    let userName: JSONValue
    let headers: JSONValue
    let payload: JSONValue
    /// The payloads by topic, for topics with a badge of their own.
    private let payloadByTopic: JSONValue?
    /// The complete payload, if the payload stage left parts out because a payload was too long. Nil if no payload was
    /// too long. Also nil if the complete payload was too long to be included in the push.
    let unpruned: JSONValue?
    let causes: JSONValue
    /// The device that made the change, if it is a device of the user. Nil for a redriven push.
    private let origin: JSONValue?

    /// - Parameter isRedriven: Whether the push is redriven. Then the device that made the change gets the push, too.
    @_lifetime(copy event)
    init(_ event: JSONView, isRedriven: Bool = false) throws(Rejection) {
        let event = event.value
        user = try event.userKey()
        userName = try event.required(.user, .string, "a string")
        notificationID = try event.required(.notificationID, .string, "a string")
        headers = try event.required(.headers, .object, "an object")
        payload = try event.required(.payload, .object, "an object")
        payloadByTopic = try event.optional(.payloadByTopic, .object, "an object")
        unpruned = event[.unpruned].flatMap { $0.isObject ? $0 : nil }
        causes = try event.required(.causes, .array, "an array")
        origin = isRedriven ? nil : try Self.origin(of: event, user: userName)
        try refuseHeader("apns-id")
        try refuseHeader("apns-topic")
    }

    /// Whether the device made the change. Such a device gets no push.
    func isFrom(_ device: Device) -> Bool { origin.map { device.isNamed($0) } ?? false }

    func payload(for device: Device) -> JSONValue {
        guard let payloadByTopic, let topic = device.topic else { return payload }
        return payloadByTopic.member(topic) ?? payload
    }

    private static func origin(of event: JSONValue, user: JSONValue) throws(Rejection) -> JSONValue? {
        guard let origin = event[.origin], !origin.isNull else { return nil }
        guard origin.isObject else {
            throw Rejection(
                code: "field.type", reason: "origin must be an object, not \(origin.kindName)", path: "origin")
        }
        guard let name = origin[.user], user.hasSameText(as: name) else { return nil }
        return origin[.device]
    }

    private func refuseHeader(_ name: StaticString) throws(Rejection) {
        guard headers[name] == nil else {
            throw Rejection(
                code: "field.unexpected", reason: "deliver writes \(name) itself: take \(name) out of the headers",
                path: "headers.\(name)")
        }
    }
}
