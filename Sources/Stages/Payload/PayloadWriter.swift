import JSON

/// Writes the two dictionaries that a device receives, with the parts that are to stay.
struct PayloadWriter {
    let notification: Notification
    /// All parts that this notification has.
    let parts: PayloadParts
    let desiredFields: DesiredFields

    private var info: NotificationInfo { notification.info }

    init(_ notification: Notification) {
        self.notification = notification
        desiredFields = DesiredFields(notification)
        parts = PayloadParts(of: notification).union(desiredFields.parts)
    }

    func write(_ kept: PayloadParts, _ badge: Int, into buffer: inout ByteBuffer) {
        buffer.append("{\"aps\":")
        let lacksArgument = writeAPS(kept, badge, into: &buffer)
        buffer.append(",\"ck\":")
        writeCK(kept, isPruned: kept != parts || desiredFields.isIncomplete || lacksArgument, into: &buffer)
        buffer.append(byte: UInt8(ascii: "}"))
    }
}

// MARK: - aps

extension PayloadWriter {
    /// Without anything visible it is a push of the background, which APNs takes with `content-available` only.
    ///
    /// - Returns: Whether the record has a value for a text that cannot stand there.
    private func writeAPS(_ kept: PayloadParts, _ badge: Int, into buffer: inout ByteBuffer) -> Bool {
        guard kept.isVisible else {
            buffer.append("{\"content-available\":1}")
            return false
        }
        var lacksArgument = false
        buffer.append(byte: UInt8(ascii: "{"))
        if !kept.isDisjoint(with: .alert) {
            buffer.append(member: "alert")
            lacksArgument = writeAlert(kept.intersection(.alert), into: &buffer)
        }
        if kept.contains(.badge) { buffer.append("badge", number: badge) }
        if kept.contains(.category) { buffer.append("category", text: info.category) }
        if kept.contains(.contentAvailable) { buffer.append("content-available", number: 1) }
        if kept.contains(.mutableContent) { buffer.append("mutable-content", number: 1) }
        if kept.contains(.sound) { buffer.append("sound", text: info.sound) }
        buffer.append(byte: UInt8(ascii: "}"))
        return lacksArgument
    }

    /// A body alone is a plain string.
    private func writeAlert(_ kept: PayloadParts, into buffer: inout ByteBuffer) -> Bool {
        if kept == .body, let body = info.body.literal {
            buffer.append(text: body)
            return false
        }
        var lacks = false
        buffer.append(byte: UInt8(ascii: "{"))
        if kept.contains(.actionKey) { buffer.append("action-loc-key", text: info.actionKey) }
        if kept.contains(.body) { buffer.append("body", text: info.body.literal) }
        if kept.contains(.launchImage) { buffer.append("launch-image", text: info.launchImage) }
        if kept.contains(.bodyArguments) { write("loc-args", info.body.arguments, &lacks, &buffer) }
        if kept.contains(.bodyKey) { buffer.append("loc-key", text: info.body.key) }
        if kept.contains(.subtitle) { buffer.append("subtitle", text: info.subtitle.literal) }
        if kept.contains(.subtitleArguments) {
            write("subtitle-loc-args", info.subtitle.arguments, &lacks, &buffer)
        }
        if kept.contains(.subtitleKey) { buffer.append("subtitle-loc-key", text: info.subtitle.key) }
        if kept.contains(.title) { buffer.append("title", text: info.title.literal) }
        if kept.contains(.titleArguments) {
            write("title-loc-args", info.title.arguments, &lacks, &buffer)
        }
        if kept.contains(.titleKey) { buffer.append("title-loc-key", text: info.title.key) }
        buffer.append(byte: UInt8(ascii: "}"))
        return lacks
    }

    /// Writes the values of the named fields as strings, the only kind that APNs takes for `loc-args`. Where the record
    /// has none, or one that cannot be an argument, an empty string holds the place, so that `%3$@` still means the third.
    ///
    /// - Parameter lacks: Made true where the record has a value that cannot be an argument.
    private func write(
        _ key: StaticString, _ names: JSONValue?, _ lacks: inout Bool, _ buffer: inout ByteBuffer
    ) {
        guard let names else { return }
        buffer.append(member: key)
        buffer.append(byte: UInt8(ascii: "["))
        for name in names.elements {
            buffer.appendSeparator()
            if let value = FieldValue(named: name, in: notification.fields), value.isArgument {
                value.writeArgument(into: &buffer)
            } else {
                buffer.append("\"\"")
                lacks = lacks || FieldValue.isHeld(name, in: notification.fields)
            }
        }
        buffer.append(byte: UInt8(ascii: "]"))
    }
}

// MARK: - ck

extension PayloadWriter {
    private func writeCK(_ kept: PayloadParts, isPruned: Bool, into buffer: inout ByteBuffer) {
        buffer.append(byte: UInt8(ascii: "{"))
        buffer.append("ce", number: Int(notification.environment.rawValue))
        if kept.contains(.container) { buffer.append("cid", text: notification.container) }
        if kept.contains(.userRecordName) { buffer.append("ckuserid", text: notification.user) }
        if notification.family != .query { writeFamily(kept, into: &buffer) }
        buffer.append("nid", text: notification.id)
        if isPruned { buffer.append("p", number: 1) }
        if notification.family == .query { writeFamily(kept, into: &buffer) }
        buffer.append(byte: UInt8(ascii: "}"))
    }

    private func writeFamily(_ kept: PayloadParts, into buffer: inout ByteBuffer) {
        buffer.append(member: notification.family.key)
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
