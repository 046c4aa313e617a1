import Events
import JSON

/// One push in the making: a notification, the badge it raises, and what fits.
struct Push: ~Escapable {
    /// APNs: a payload is at most 4,096 bytes (Sending notification requests to APNs).
    static let payloadBytesMax = 4096
    /// Leaves room for what always stays beside the two identifiers.
    static let identifierBytesMax = payloadBytesMax - 128
    /// Keeps a push far below what one event of a log may have.
    static let unprunedBytesMax = 1 << 20
    /// APNs: `apns-collapse-id` is at most 64 bytes.
    static let collapseIDBytesMax = 64

    let notification: Notification
    /// Unset where the badge is not touched.
    let badge: Badge
    /// Nil: APNs keeps the push as long as it likes.
    let expiration: Expiration?

    @_lifetime(copy notification)
    init(notification: Notification, badge: Badge, expiration: Expiration?) {
        self.notification = notification
        (self.badge, self.expiration) = (badge, expiration)
    }

    /// Writes the push; where a payload had to lose something, the whole one beside it, for whoever fetches it later.
    func write(into buffer: inout ByteBuffer) {
        buffer.begin(event: EventName.push)
        writeAddress(into: &buffer)
        let start = buffer.count
        let payload = PayloadWriter(notification)
        if !writeMessage(
            payload, Kept(own: payload.parts, byTopic: badge.topics.map { _ in payload.parts }), into: &buffer)
        {
            buffer.truncate(to: start)
            _ = writeMessage(payload, kept(of: payload), into: &buffer)
            writeUnpruned(payload, into: &buffer)
        }
        buffer.append(.causes, notification.causes)
        buffer.append(byte: UInt8(ascii: "}"))
    }

    /// What stays of the push's payload, and of that of each topic whose badge was set by itself.
    struct Kept {
        let own: PayloadParts
        let byTopic: [PayloadParts]

        var isVisible: Bool { own.isVisible && byTopic.allSatisfy(\.isVisible) }
    }

    /// Each payload is measured with its own badge. All share their headers: where one of them has no room for anything
    /// visible, all go in the background.
    func kept(of payload: PayloadWriter) -> Kept {
        let kept = kept(of: payload, mayBeVisible: true)
        return kept.isVisible || !payload.parts.isVisible ? kept : self.kept(of: payload, mayBeVisible: false)
    }

    private func kept(of payload: PayloadWriter, mayBeVisible: Bool) -> Kept {
        Kept(
            own: payload.fittingParts(badge.count, mayBeVisible: mayBeVisible),
            byTopic: badge.topics.map { payload.fittingParts($0.count, mayBeVisible: mayBeVisible) })
    }

    private func writeAddress(into buffer: inout ByteBuffer) {
        buffer.append(.notificationID, notification.id)
        buffer.append(.container, notification.container)
        buffer.append(.environment, notification.environmentName)
        buffer.append(.user, notification.user)
        buffer.append(.subscriptionID, notification.subscriptionID)
        guard let origin = notification.origin else { return }
        buffer.append(.origin, origin)
    }

    /// - Returns: Whether every payload is short enough.
    private func writeMessage(
        _ payload: PayloadWriter, _ kept: Kept, into buffer: inout ByteBuffer
    ) -> Bool {
        buffer.append(member: .headers)
        writeHeaders(kept.own, into: &buffer)
        buffer.append(member: .payload)
        let fits = write(payload, kept.own, badge.count, into: &buffer)
        return badge.topics.isEmpty ? fits : writeTopics(payload, kept.byTopic, into: &buffer) && fits
    }

    /// Writes the payloads for devices of topics whose badges were set by themselves.
    private func writeTopics(
        _ payload: PayloadWriter, _ kept: [PayloadParts], into buffer: inout ByteBuffer
    ) -> Bool {
        var fits = true
        buffer.append(member: .payloadByTopic)
        buffer.append(byte: UInt8(ascii: "{"))
        for (topic, kept) in zip(badge.topics, kept) {
            buffer.append(key: topic.name)
            fits = write(payload, kept, topic.count, into: &buffer) && fits
        }
        buffer.append(byte: UInt8(ascii: "}"))
        return fits
    }

    /// - Returns: Whether the payload is short enough.
    @inline(__always)
    private func write(
        _ payload: PayloadWriter, _ kept: PayloadParts, _ badge: Int, into buffer: inout ByteBuffer
    ) -> Bool {
        let start = buffer.count
        payload.write(kept, badge, into: &buffer)
        return buffer.count - start <= Push.payloadBytesMax
    }

    /// Names are as short as Apple's, so only texts without any measure take more than there is room for.
    private func writeUnpruned(_ payload: PayloadWriter, into buffer: inout ByteBuffer) {
        let start = buffer.count
        buffer.append(member: .unpruned)
        payload.write(payload.parts, badge.count, into: &buffer)
        if buffer.count - start > Push.unprunedBytesMax { buffer.truncate(to: start) }
    }
}
