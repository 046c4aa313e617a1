import Events
import JSON
import PipelineKit
import Time

/// A `push` event, checked: views into the event, which it cannot outlive.
struct Push: ~Escapable {
    /// Container, environment and user, as a key.
    let user: [UInt8]
    let notificationID: JSONValue
    let userName: JSONValue
    let headers: JSONValue
    let payload: JSONValue
    /// What devices of other topics get instead.
    private let payloadByTopic: JSONValue?
    /// The payload before anything was left out of it; nil where nothing was.
    let unpruned: JSONValue?
    let causes: JSONValue
    /// The user's own device that made the change, if it was one.
    private let origin: JSONValue?

    /// - Parameter isRedriven: Whether it no longer counts who made the change.
    @_lifetime(copy event)
    init(_ event: JSONView, isRedriven: Bool = false) throws(Rejection) {
        let event = event.value
        user = try event.userKey()
        userName = try event.required(.user, .string, "a text")
        notificationID = try event.required(.notificationID, .string, "a text")
        headers = try event.required(.headers, .object, "an object")
        payload = try event.required(.payload, .object, "an object")
        payloadByTopic = try event.optional(.payloadByTopic, .object, "an object")
        unpruned = event[.unpruned].flatMap { $0.isObject ? $0 : nil }
        causes = try event.required(.causes, .array, "a list")
        origin = isRedriven ? nil : try Self.origin(of: event, user: userName)
        try refuseHeader("apns-id")
        try refuseHeader("apns-topic")
    }

    /// When no device is to be sent the push any more; nil where that is never.
    var expiresAt: Instant? {
        guard let seconds = WaitingHeaders.expiration(headers), seconds > 0 else { return nil }
        return Instant(microseconds: seconds * 1_000_000)
    }

    /// Nil where nothing replaces the push.
    var collapseID: [UInt8]? { headers[.apnsCollapseID]?.withUTF8 { $0.isEmpty ? nil : Array($0) } ?? nil }

    func isExpired(at now: Instant) -> Bool { expiresAt.map { $0 <= now } ?? false }

    func isFrom(_ device: Device) -> Bool { origin?.equals(device.name) ?? false }

    func payload(for device: Device) -> JSONValue {
        guard let payloadByTopic, let topic = device.topic else { return payload }
        return payloadByTopic.member(topic) ?? payload
    }

    private static func origin(of event: JSONValue, user: JSONValue) throws(Rejection) -> JSONValue? {
        guard let origin = event[.origin], !origin.isNull else { return nil }
        guard origin.isObject else {
            throw Rejection(code: "field.type", reason: "origin must be an object", path: "origin")
        }
        guard let name = origin[.user], user.hasSameText(as: name) else { return nil }
        return origin[.device]
    }

    /// Those two are each device's own.
    private func refuseHeader(_ name: StaticString) throws(Rejection) {
        guard headers[name] == nil else {
            throw Rejection(code: "field.unexpected", reason: "deliver writes \(name) itself", path: "headers.\(name)")
        }
    }
}
