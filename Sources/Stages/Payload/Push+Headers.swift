import JSON
import Time

/// The headers of the request to APNs: push type, priority, expiration and collapse ID.
extension Push {
    /// Writes the headers of an alert with priority 10 if a part of ``PayloadParts/visible`` is left after pruning.
    /// Otherwise writes the headers of a background push with priority 5.
    func writeHeaders(_ kept: PayloadParts, into buffer: inout ByteBuffer) {
        if kept.isVisible {
            buffer.append("{\"apns-push-type\":\"alert\",\"apns-priority\":\"10\"")
        } else {
            buffer.append("{\"apns-push-type\":\"background\",\"apns-priority\":\"5\"")
        }
        if let expirationSeconds {
            buffer.append(",\"apns-expiration\":\"")
            buffer.appendJSON(expirationSeconds)
            buffer.append(byte: UInt8(ascii: "\""))
        }
        if let collapseID = notification.info.collapseID, Push.isValidHeader(collapseID) {
            buffer.append(member: .apnsCollapseID)
            buffer.append(text: collapseID)
        }
        buffer.append(byte: UInt8(ascii: "}"))
    }

    /// Whether a collapse ID can be a header. A header contains no NUL, CR or LF, and has no space or tab at its ends
    /// (RFC 9113, section 8.2.1). A collapse ID also has 1 to ``collapseIDBytesMax`` bytes. An invalid ID is left out,
    /// because APNs would reject the whole push for it.
    ///
    /// Ingest rejects invalid collapse IDs, but a plugin may write an invalid collapse ID.
    private static func isValidHeader(_ text: JSONValue) -> Bool {
        text.withUTF8 { utf8 in
            guard let first = utf8.first, let last = utf8.last, utf8.count <= collapseIDBytesMax else { return false }
            return ![0x20, 0x09].contains(first) && ![0x20, 0x09].contains(last)
                && !utf8.contains { [0x00, 0x0A, 0x0D].contains($0) }
        } ?? false
    }
}
