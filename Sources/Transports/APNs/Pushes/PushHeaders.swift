import Events
import JSON
import PipelineKit
import Time

/// The `apns-` headers of a push. Valid only while the push's line exists.
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
                let name = (key.string ?? "").printable
                throw UnsendablePush("the value of the header \(name) is not a string that HTTP can carry")
            }
            set(key, text)
        }
        if let collapseID, collapseID.withBytes({ $0.count > 64 }) {
            throw UnsendablePush("apns-collapse-id is longer than 64 bytes")
        }
    }

    /// Whether the text has no control characters and no space at its ends (RFC 9113, section 8.2.1). Only a collapse
    /// ID may have characters other than ASCII.
    private static func fits(_ text: UnsafeRawBufferPointer, _ isCollapseID: Bool) -> Bool {
        guard let first = text.first, let last = text.last else { return true }
        return first != 0x20 && last != 0x20
            && text.allSatisfy { $0 >= 0x20 && $0 != 0x7F && ($0 < 0x80 || isCollapseID) }
    }

    private mutating func set(_ key: JSONValue, _ text: DecodedText) {
        if key.equals(.apnsID) {
            id = text
        } else if key.equals(.apnsTopic) {
            topic = text.string
        } else if key.equals(.apnsPushType) {
            pushType = text.string
        } else if key.equals(.apnsPriority) {
            priority = text.string
        } else if key.equals(.apnsExpiration) {
            expiration = text
        } else if isCollapseID(key), !text.isEmpty {
            collapseID = text
        }
    }

    /// When APNs stops trying to deliver the push. Nil if the header is missing, is not a positive number, or names a
    /// time in the distant future. With 0, APNs tries only once.
    var expiresAt: Instant? {
        guard let expiration, let seconds = Int64(expiration.string), seconds > 0,
            seconds < Instant.distantFuture.microseconds / 1_000_000
        else { return nil }
        return Instant(microseconds: seconds * 1_000_000)
    }
}

private func isCollapseID(_ key: JSONValue) -> Bool { key.equals(.apnsCollapseID) }
