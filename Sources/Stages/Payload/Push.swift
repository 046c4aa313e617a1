import JSON

/// One push in the making: a notification, the badge it raises, and what fits.
struct Push {
    /// APNs: a payload is at most 4,096 bytes (Sending notification requests to APNs).
    static let payloadBytesMax = 4096
    /// Leaves room for what always stays beside the two identifiers.
    static let identifierBytesMax = payloadBytesMax - 128
    /// APNs: `apns-collapse-id` is at most 64 bytes.
    private static let collapseIDBytesMax = 64

    let notification: Notification
    /// 0 where the badge is not touched.
    let badge: Int

    func write(into buffer: inout ByteBuffer) {
        buffer.append("{\"type\":\"push\"")
        writeAddress(into: &buffer)
        buffer.append(",\"headers\":")
        writeHeaders(into: &buffer)
        buffer.append(",\"payload\":")
        writePayload(into: &buffer)
        buffer.append(",\"causes\":")
        buffer.append(notification.causes.raw)
        buffer.append(byte: UInt8(ascii: "}"))
    }

    private func writeAddress(into buffer: inout ByteBuffer) {
        buffer.append(",\"notificationID\":")
        buffer.append(notification.id.raw)
        buffer.append(",\"container\":")
        buffer.append(notification.container.raw)
        buffer.append(",\"environment\":")
        buffer.append(notification.environmentName.raw)
        buffer.append(",\"user\":")
        buffer.append(notification.user.raw)
        buffer.append(",\"subscriptionID\":")
        buffer.append(notification.subscriptionID.raw)
        guard let origin = notification.origin else { return }
        buffer.append(",\"origin\":")
        buffer.append(origin.raw)
    }

    private func writeHeaders(into buffer: inout ByteBuffer) {
        if notification.info.isVisual {
            buffer.append("{\"apns-push-type\":\"alert\",\"apns-priority\":\"10\"")
        } else {
            buffer.append("{\"apns-push-type\":\"background\",\"apns-priority\":\"5\"")
        }
        if let collapseID = notification.info.collapseID, Push.isHeader(collapseID) {
            buffer.append(",\"apns-collapse-id\":")
            buffer.append(text: collapseID)
        }
        buffer.append(byte: UInt8(ascii: "}"))
    }

    /// Leaves out no more parts than it must: each part that goes makes the payload shorter, so their number is found
    /// by halving.
    private func writePayload(into buffer: inout ByteBuffer) {
        let payload = PayloadWriter(notification: notification, badge: badge)
        let start = buffer.count
        payload.write(payload.parts, into: &buffer)
        guard buffer.count - start > Push.payloadBytesMax else { return }
        var tooFew = 0
        var enough = payload.parts.count
        while enough - tooFew > 1 {
            let count = (tooFew + enough) / 2
            buffer.truncate(to: start)
            payload.write(payload.parts.dropping(count), into: &buffer)
            if buffer.count - start > Push.payloadBytesMax { tooFew = count } else { enough = count }
        }
        buffer.truncate(to: start)
        payload.write(payload.parts.dropping(enough), into: &buffer)
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
