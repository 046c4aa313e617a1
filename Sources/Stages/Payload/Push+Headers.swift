import JSON
import Time

/// The headers of the request to APNs: what decides push type, priority, expiration and collapse ID.
extension Push {
    /// An alert of priority 10 where something of ``PayloadParts/visible`` is left after pruning; else a background push of
    /// priority 5.
    func writeHeaders(_ kept: PayloadParts, into buffer: inout ByteBuffer) {
        if kept.isVisible {
            buffer.append("{\"apns-push-type\":\"alert\",\"apns-priority\":\"10\"")
        } else {
            buffer.append("{\"apns-push-type\":\"background\",\"apns-priority\":\"5\"")
        }
        if let expiration {
            buffer.append(",\"apns-expiration\":\"")
            buffer.appendJSON(expiration.seconds)
            buffer.append(byte: UInt8(ascii: "\""))
        }
        if let collapseID = notification.info.collapseID, Push.isHeader(collapseID) {
            buffer.append(member: .apnsCollapseID)
            buffer.append(text: collapseID)
        }
        buffer.append(byte: UInt8(ascii: "}"))
    }

    /// RFC 9113, section 8.2.1: no NUL, CR or LF in a header, and no space or tab at its ends. Ingest refuses such a
    /// collapse ID; one that comes another way is not sent, since APNs would refuse the whole push for it.
    private static func isHeader(_ text: JSONValue) -> Bool {
        text.withUTF8 { utf8 in
            guard let first = utf8.first, let last = utf8.last, utf8.count <= collapseIDBytesMax else { return false }
            return ![0x20, 0x09].contains(first) && ![0x20, 0x09].contains(last)
                && !utf8.contains { [0x00, 0x0A, 0x0D].contains($0) }
        } ?? false
    }
}
