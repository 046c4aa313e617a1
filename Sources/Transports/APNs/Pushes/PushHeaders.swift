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
