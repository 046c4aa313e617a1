import JSON
import PipelineKit

extension PayloadStage {
    /// Explains a notification: silent or not, and what its payload loses to the limit.
    public func explain(_ event: borrowing InputEvent, for subject: ExplainedSubject) -> [Explanation] {
        guard event.isOfType("notification") else { return [] }
        do throws(Rejection) {
            let notification = try Notification(event.json)
            guard notification.fits(subject) else { return [] }
            var counters = badges
            let badge = notification.info.shouldBadge ? counters.increment(for: notification) : 0
            return [kind(of: notification)] + pruned(PayloadWriter(notification: notification, badge: badge))
        } catch {
            return [
                Explanation(
                    PayloadStage.kind, .eventDeadLetter, "payload cannot use the notification: \(error.reason)",
                    [.init("reason", error.code), .init("path", error.path)])
            ]
        }
    }

    private func kind(of notification: Notification) -> Explanation {
        notification.info.isVisual
            ? Explanation(PayloadStage.kind, .payloadAlert, "the push is an alert")
            : Explanation(
                PayloadStage.kind, .payloadSilent, "the push is silent: its subscription has nothing to show or play")
    }

    private func pruned(_ payload: PayloadWriter) -> [Explanation] {
        let before = payload.bytes(payload.parts)
        guard before > Push.payloadBytesMax else { return [] }
        let dropped = (1..<payload.parts.count).first {
            payload.bytes(payload.parts.dropping($0)) <= Push.payloadBytesMax
        }
        let kept = payload.parts.dropping(dropped ?? payload.parts.count)
        let names = payload.parts.subtracting(kept).names(payload.notification)
        return [
            Explanation(
                PayloadStage.kind, .payloadPruned,
                "the payload had \(before) bytes, and \(Push.payloadBytesMax) are allowed: left out "
                    + names.joined(separator: ", "),
                [
                    .init("bytesBefore", UInt64(before)), .init("bytesAfter", UInt64(payload.bytes(kept))),
                    .init("leftOut", names),
                ])
        ]
    }
}

extension Notification {
    fileprivate func fits(_ subject: ExplainedSubject) -> Bool {
        func isSame(_ text: String?, _ value: JSONValue) -> Bool { text.map { value.equals($0) } ?? true }
        return isSame(subject.user, user) && isSame(subject.subscriptionID, subscriptionID)
            && isSame(subject.container, container) && isSame(subject.environment, environmentName)
    }
}

extension PayloadWriter {
    fileprivate func bytes(_ kept: PayloadParts) -> Int {
        var buffer = ByteBuffer(capacity: 8 << 10)
        write(kept, into: &buffer)
        return buffer.count
    }
}

extension PayloadParts {
    /// As they stand in the payload, in the order in which they are left out.
    fileprivate func names(_ notification: Notification) -> [String] {
        let keys = notification.info.desiredKeys.map { $0.elements.map { "af.\($0.string ?? "")" } } ?? []
        return PayloadParts.names(desired: keys).filter { contains($0.part) }.map(\.name)
    }

    private static func names(desired keys: [String]) -> [(part: PayloadParts, name: String)] {
        zip(fields, keys).map { ($0, $1) }.reversed() + [
            (.subtitle, "subtitle"), (.subtitleArguments, "subtitle-loc-args"), (.subtitleKey, "subtitle-loc-key"),
            (.title, "title"), (.titleArguments, "title-loc-args"), (.titleKey, "title-loc-key"),
            (.userRecordName, "ckuserid"), (.container, "cid"), (.recordName, "rid"), (.reason, "fo"),
            (.contentAvailable, "content-available"), (.sound, "sound"), (.launchImage, "launch-image"),
            (.actionKey, "action-loc-key"), (.body, "body"), (.bodyArguments, "loc-args"), (.bodyKey, "loc-key"),
            (.badge, "badge"), (.mutableContent, "mutable-content"), (.category, "category"), (.zoneOwner, "zoid"),
            (.zoneName, "zid"),
        ]
    }
}
