import Events
import JSON

/// A notification, with the badge and the expiration of its push.
struct Push: ~Escapable {
    /// APNs: a payload is at most 4,096 bytes (Apple, "Sending notification requests to APNs").
    static let payloadBytesMax = 4096
    /// The most bytes of the IDs of notification and subscription together, as JSON strings with their quotes. The
    /// other parts that always stay in a payload need the remaining bytes.
    static let identifierBytesMax = payloadBytesMax - 128
    /// The most bytes of the complete payload that a push contains in addition to its pruned payload. The limit keeps a
    /// push far below the size limit of a log's events.
    static let unprunedBytesMax = 1 << 20
    /// APNs: `apns-collapse-id` is at most 64 bytes.
    static let collapseIDBytesMax = 64

    let notification: Notification
    /// Unset if the notification does not change the badge.
    let badge: Badge
    /// The time until which APNs stores the push, in seconds since 1970. If it is 0, APNs tries once. If it is nil,
    /// APNs decides.
    let expirationSeconds: Int64?

    @_lifetime(copy notification)
    init(notification: Notification, badge: Badge, expirationSeconds: Int64?) {
        self.notification = notification
        (self.badge, self.expirationSeconds) = (badge, expirationSeconds)
    }

    /// Writes the push. If a payload leaves parts out, the push also contains the complete payload, which the courier
    /// transport stores. A complete payload of more than ``unprunedBytesMax`` bytes is not included.
    func write(into buffer: inout ByteBuffer) {
        buffer.begin(event: EventName.push)
        writeIdentifiers(into: &buffer)
        let start = buffer.count
        let payload = PayloadWriter(notification)
        if !writeMessage(
            payload, KeptParts(inPayload: payload.parts, byTopic: badge.topics.map { _ in payload.parts }),
            into: &buffer)
        {
            buffer.truncate(to: start)
            _ = writeMessage(payload, kept(of: payload), into: &buffer)
            writeUnpruned(payload, into: &buffer)
        }
        buffer.append(.causes, notification.causes)
        buffer.append(byte: UInt8(ascii: "}"))
    }

    /// The parts that stay in the payload, and in the payload of each topic with a badge of its own.
    struct KeptParts {
        let inPayload: PayloadParts
        let byTopic: [PayloadParts]

        var isVisible: Bool { inPayload.isVisible && byTopic.allSatisfy(\.isVisible) }
    }

    /// Decides which parts stay in each payload. All payloads share the headers. So if one payload has no room for any
    /// of its visible parts, all payloads become payloads of background pushes.
    func kept(of payload: PayloadWriter) -> KeptParts {
        let kept = kept(of: payload, mayBeVisible: true)
        return kept.isVisible || !payload.parts.isVisible ? kept : self.kept(of: payload, mayBeVisible: false)
    }

    private func kept(of payload: PayloadWriter, mayBeVisible: Bool) -> KeptParts {
        KeptParts(
            inPayload: payload.fittingParts(badge.count, mayBeVisible: mayBeVisible),
            byTopic: badge.topics.map { payload.fittingParts($0.count, mayBeVisible: mayBeVisible) })
    }

    private func writeIdentifiers(into buffer: inout ByteBuffer) {
        buffer.append(.notificationID, notification.id)
        buffer.append(.container, notification.container)
        buffer.append(.environment, notification.environmentName)
        buffer.append(.user, notification.user)
        buffer.append(.subscriptionID, notification.subscriptionID)
        guard let origin = notification.origin else { return }
        buffer.append(.origin, origin)
    }

    /// - Returns: Whether all payloads fit.
    private func writeMessage(
        _ payload: PayloadWriter, _ kept: KeptParts, into buffer: inout ByteBuffer
    ) -> Bool {
        buffer.append(member: .headers)
        writeHeaders(kept.inPayload, into: &buffer)
        buffer.append(member: .payload)
        let fits = write(payload, kept.inPayload, badge.count, into: &buffer)
        return badge.topics.isEmpty ? fits : writeTopics(payload, kept.byTopic, into: &buffer) && fits
    }

    /// Writes the payloads for the topics with badges of their own.
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

    /// - Returns: Whether the payload fits.
    @inline(__always)
    private func write(
        _ payload: PayloadWriter, _ kept: PayloadParts, _ badge: Int, into buffer: inout ByteBuffer
    ) -> Bool {
        let start = buffer.count
        payload.write(kept, badge, into: &buffer)
        return buffer.count - start <= Push.payloadBytesMax
    }

    /// Writes the complete payload, unless it is longer than ``unprunedBytesMax``.
    private func writeUnpruned(_ payload: PayloadWriter, into buffer: inout ByteBuffer) {
        let start = buffer.count
        buffer.append(member: .unpruned)
        payload.write(payload.parts, badge.count, into: &buffer)
        if buffer.count - start > Push.unprunedBytesMax { buffer.truncate(to: start) }
    }
}
