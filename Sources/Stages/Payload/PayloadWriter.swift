import JSON

/// Writes the payload that a device receives: the `aps` and `ck` dictionaries.
struct PayloadWriter: ~Escapable {
    let notification: Notification
    /// All parts of the notification.
    let parts: PayloadParts
    let desiredFields: DesiredFields

    var info: NotificationInfo { notification.info }

    @_lifetime(copy notification)
    init(_ notification: Notification) {
        self.notification = notification
        desiredFields = DesiredFields(notification)
        parts = PayloadParts(of: notification).union(desiredFields.parts)
    }

    func write(_ kept: PayloadParts, _ badge: Int, into buffer: inout ByteBuffer) {
        buffer.append("{\"aps\":")
        let leavesOutArgument = writeAPS(kept, badge, into: &buffer)
        buffer.append(",\"ck\":")
        writeCK(kept, isPruned: kept != parts || desiredFields.isIncomplete || leavesOutArgument, into: &buffer)
        buffer.append(byte: UInt8(ascii: "}"))
    }
}

// MARK: - ck

extension PayloadWriter {
    private func writeCK(_ kept: PayloadParts, isPruned: Bool, into buffer: inout ByteBuffer) {
        buffer.append(byte: UInt8(ascii: "{"))
        buffer.append("ce", number: Int(notification.environment.rawValue))
        if kept.contains(.container) { buffer.append("cid", text: notification.container) }
        if kept.contains(.userRecordName) { buffer.append("ckuserid", text: notification.user) }
        if notification.subscriptionType != .query { writeSubscription(kept, into: &buffer) }
        buffer.append("nid", text: notification.id)
        if isPruned { buffer.append("p", number: 1) }
        if notification.subscriptionType == .query { writeSubscription(kept, into: &buffer) }
        buffer.append(byte: UInt8(ascii: "}"))
    }

    private func writeSubscription(_ kept: PayloadParts, into buffer: inout ByteBuffer) {
        buffer.append(member: notification.subscriptionType.key)
        buffer.append(byte: UInt8(ascii: "{"))
        desiredFields.write(kept, into: &buffer)
        buffer.append("dbs", number: Int(notification.database.rawValue))
        if kept.contains(.reason) { buffer.append("fo", number: Int(notification.reason.rawValue)) }
        if kept.contains(.recordName) { buffer.append("rid", text: notification.recordName) }
        buffer.append("sid", text: notification.subscriptionID)
        if kept.contains(.zoneName) {
            buffer.append(member: "zid")
            writeZoneName(into: &buffer)
        }
        if kept.contains(.zoneOwner) {
            buffer.append(member: "zoid")
            writeZoneOwner(into: &buffer)
        }
        buffer.append(byte: UInt8(ascii: "}"))
    }

    private func writeZoneName(into buffer: inout ByteBuffer) {
        guard let name = notification.zoneName else { return buffer.append("\"_defaultZone\"") }
        buffer.append(text: name)
    }

    private func writeZoneOwner(into buffer: inout ByteBuffer) {
        switch notification.database {
        case .public: buffer.append("\"_defaultOwner\"")
        case .private: buffer.append(text: notification.user)
        case .shared: buffer.append(text: notification.zoneOwner ?? notification.user)
        }
    }
}
