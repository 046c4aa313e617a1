import EventLog
import JSON

/// The `apns-` headers of a push. Valid as long as its line.
struct PushHeaders {
    private(set) var id: DecodedText?
    private(set) var expiration: DecodedText?
    private(set) var collapseID: DecodedText?
    private(set) var topic: String?
    private(set) var pushType: String?
    private(set) var priority: String?

    init(_ headers: JSONValue) throws(UnsendablePush) {
        for (key, value) in headers.members {
            guard let text = DecodedText(value), text.withBytes({ Self.fits($0, isCollapseID(key)) }) else {
                throw UnsendablePush("the header \(key.string ?? "") is no text that HTTP can carry")
            }
            take(key, text)
        }
        if let collapseID, collapseID.withBytes({ $0.count > 64 }) {
            throw UnsendablePush("apns-collapse-id is longer than 64 bytes")
        }
    }

    /// RFC 9113, section 8.2.1: no control characters, and no space at the ends.
    private static func fits(_ text: UnsafeRawBufferPointer, _ isCollapseID: Bool) -> Bool {
        guard let first = text.first, let last = text.last else { return true }
        return first != 0x20 && last != 0x20
            && text.allSatisfy { $0 >= 0x20 && $0 != 0x7F && ($0 < 0x80 || isCollapseID) }
    }

    private mutating func take(_ key: JSONValue, _ text: DecodedText) {
        if key.equals("apns-id") {
            id = text
        } else if key.equals("apns-topic") {
            topic = text.string
        } else if key.equals("apns-push-type") {
            pushType = text.string
        } else if key.equals("apns-priority") {
            priority = text.string
        } else if key.equals("apns-expiration") {
            expiration = text
        } else if isCollapseID(key), !text.isEmpty {
            collapseID = text
        }
    }

    /// When APNs gives up; nil for 0, one attempt, and where there is no such header.
    var expiresAt: Instant? {
        guard let expiration, let seconds = Int64(expiration.string), seconds > 0,
            seconds < Instant.distantFuture.microseconds / 1_000_000
        else { return nil }
        return Instant(microseconds: seconds * 1_000_000)
    }
}

private func isCollapseID(_ key: JSONValue) -> Bool { key.equals("apns-collapse-id") }

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
