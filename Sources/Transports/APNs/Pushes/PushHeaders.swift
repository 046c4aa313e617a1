import EventLog
import JSON

/// The `apns-` headers of a push. Views are valid as long as its line.
struct PushHeaders {
    private(set) var id: UnsafeRawBufferPointer?
    private(set) var expiration: UnsafeRawBufferPointer?
    private(set) var collapseID: UnsafeRawBufferPointer?
    private(set) var topic: String?
    private(set) var pushType: String?
    private(set) var priority: String?

    init(_ headers: JSONValue) throws(UnsendablePush) {
        for (key, value) in headers.members {
            guard let text = value.plain, text.allSatisfy({ 0x20...0x7E ~= $0 }) || key.equals("apns-collapse-id")
            else {
                throw UnsendablePush("the header \(key.string ?? "") is no text that HTTP can carry")
            }
            take(key, value, text)
        }
        if let collapseID, collapseID.count > 64 {
            throw UnsendablePush("apns-collapse-id is longer than 64 bytes")
        }
    }

    private mutating func take(_ key: JSONValue, _ value: JSONValue, _ text: UnsafeRawBufferPointer) {
        if key.equals("apns-id") {
            id = text
        } else if key.equals("apns-topic") {
            topic = value.string
        } else if key.equals("apns-push-type") {
            pushType = value.string
        } else if key.equals("apns-priority") {
            priority = value.string
        } else if key.equals("apns-expiration") {
            expiration = text
        } else if key.equals("apns-collapse-id"), !text.isEmpty {
            collapseID = text
        }
    }

    /// When APNs gives up; nil for 0, one attempt, and where there is no such header.
    var expiresAt: Instant? {
        guard let expiration, let seconds = Int64(String(decoding: expiration, as: UTF8.self)), seconds > 0,
            seconds < Instant.distantFuture.microseconds / 1_000_000
        else { return nil }
        return Instant(microseconds: seconds * 1_000_000)
    }
}

/// What APNs would refuse, refused before it is sent.
enum PushRules {
    // Sending notification requests to APNs; Pushing background updates to your App.
    static func check(_ kind: APNsPush.Kind, _ payload: JSONValue, bytes: Int) throws(UnsendablePush) {
        let limit = kind.pushType == "voip" ? APNsPushReader.voipPayloadBytesMax : APNsPushReader.payloadBytesMax
        guard bytes <= limit else { throw UnsendablePush("a payload of \(bytes) bytes; APNs takes \(limit)") }
        guard !kind.topic.isEmpty else { throw UnsendablePush("a push without a topic") }
        guard ["10", "5", "1"].contains(kind.priority) else {
            throw UnsendablePush("apns-priority is 10, 5 or 1, not \(kind.priority)")
        }
        if kind.pushType == "background" { try checkBackground(kind, payload) }
    }

    private static func checkBackground(_ kind: APNsPush.Kind, _ payload: JSONValue) throws(UnsendablePush) {
        guard kind.priority == "5" else { throw UnsendablePush("a background push has apns-priority 5") }
        guard let aps = payload["aps"] else { return }
        guard aps["alert"] == nil, aps["badge"] == nil, aps["sound"] == nil else {
            throw UnsendablePush("a background push has no alert, badge or sound")
        }
    }
}
