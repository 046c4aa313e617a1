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
        var aps = ObjectWriter(&buffer)
        if !kept.isDisjoint(with: .alert) {
            aps.key("\"alert\":", &buffer)
            lacksArgument = writeAlert(kept.intersection(.alert), into: &buffer)
        }
        if kept.contains(.badge) { aps.number("\"badge\":", badge, &buffer) }
        if kept.contains(.category) { aps.optionalText("\"category\":", info.category, &buffer) }
        if kept.contains(.contentAvailable) { aps.number("\"content-available\":", 1, &buffer) }
        if kept.contains(.mutableContent) { aps.number("\"mutable-content\":", 1, &buffer) }
        if kept.contains(.sound) { aps.optionalText("\"sound\":", info.sound, &buffer) }
        aps.close(&buffer)
        return lacksArgument
    }

    /// A body alone is a plain string.
    private func writeAlert(_ kept: PayloadParts, into buffer: inout ByteBuffer) -> Bool {
        if kept == .body, let body = info.body.literal {
            buffer.append(text: body)
            return false
        }
        var lacks = false
        var alert = ObjectWriter(&buffer)
        if kept.contains(.actionKey) { alert.optionalText("\"action-loc-key\":", info.actionKey, &buffer) }
        if kept.contains(.body) { alert.optionalText("\"body\":", info.body.literal, &buffer) }
        if kept.contains(.launchImage) { alert.optionalText("\"launch-image\":", info.launchImage, &buffer) }
        if kept.contains(.bodyArguments) { write("\"loc-args\":", info.body.arguments, &lacks, &alert, &buffer) }
        if kept.contains(.bodyKey) { alert.optionalText("\"loc-key\":", info.body.key, &buffer) }
        if kept.contains(.subtitle) { alert.optionalText("\"subtitle\":", info.subtitle.literal, &buffer) }
        if kept.contains(.subtitleArguments) {
            write("\"subtitle-loc-args\":", info.subtitle.arguments, &lacks, &alert, &buffer)
        }
        if kept.contains(.subtitleKey) { alert.optionalText("\"subtitle-loc-key\":", info.subtitle.key, &buffer) }
        if kept.contains(.title) { alert.optionalText("\"title\":", info.title.literal, &buffer) }
        if kept.contains(.titleArguments) {
            write("\"title-loc-args\":", info.title.arguments, &lacks, &alert, &buffer)
        }
        if kept.contains(.titleKey) { alert.optionalText("\"title-loc-key\":", info.title.key, &buffer) }
        alert.close(&buffer)
        return lacks
    }

    /// Writes the values of the named fields as strings, the only kind that APNs takes for `loc-args`. Where the record
    /// has none, or one that cannot be an argument, an empty string holds the place, so that `%3$@` still means the third.
    ///
    /// - Parameter lacks: Made true where the record has a value that cannot be an argument.
    private func write(
        _ key: StaticString, _ names: JSONValue?, _ lacks: inout Bool, _ alert: inout ObjectWriter,
        _ buffer: inout ByteBuffer
    ) {
        guard let names else { return }
        alert.key(key, &buffer)
        buffer.append(byte: UInt8(ascii: "["))
        var isFirst = true
        for name in names.elements {
            if !isFirst { buffer.append(byte: UInt8(ascii: ",")) }
            isFirst = false
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
        var ck = ObjectWriter(&buffer)
        ck.number("\"ce\":", Int(notification.environment.rawValue), &buffer)
        if kept.contains(.container) { ck.text("\"cid\":", notification.container, &buffer) }
        if kept.contains(.userRecordName) { ck.text("\"ckuserid\":", notification.user, &buffer) }
        if notification.family != .query { writeFamily(kept, &ck, into: &buffer) }
        ck.text("\"nid\":", notification.id, &buffer)
        if isPruned { ck.number("\"p\":", 1, &buffer) }
        if notification.family == .query { writeFamily(kept, &ck, into: &buffer) }
        ck.close(&buffer)
    }

    private func writeFamily(_ kept: PayloadParts, _ ck: inout ObjectWriter, into buffer: inout ByteBuffer) {
        ck.key(notification.family.key, &buffer)
        var family = ObjectWriter(&buffer)
        desiredFields.write(kept, &family, into: &buffer)
        family.number("\"dbs\":", Int(notification.database.rawValue), &buffer)
        if kept.contains(.reason) { family.number("\"fo\":", Int(notification.reason.rawValue), &buffer) }
        if kept.contains(.recordName) { family.optionalText("\"rid\":", notification.recordName, &buffer) }
        family.text("\"sid\":", notification.subscriptionID, &buffer)
        if kept.contains(.zoneName) {
            family.key("\"zid\":", &buffer)
            writeZoneName(into: &buffer)
        }
        if kept.contains(.zoneOwner) {
            family.key("\"zoid\":", &buffer)
            writeZoneOwner(into: &buffer)
        }
        family.close(&buffer)
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
