import Events
import JSON
import PipelineKit
import Time

extension PayloadStage {
    /// Explains whether the push of a notification is silent, which parts its payloads leave out for lack of room, and
    /// which values its payloads lack because of their types.
    package func explain(
        _ event: borrowing InputEvent, at now: Instant, for subject: ExplainedSubject
    ) -> [Explanation] {
        guard event.isOfType(EventName.notification) else { return [] }
        do throws(Rejection) {
            let notification = try Notification(event.json)
            guard notification.fits(subject) else { return [] }
            var counters = badges
            let badge = notification.info.shouldBadge ? counters.increment(for: notification) : Badge()
            return explain(Push(notification: notification, badge: badge, expirationSeconds: nil))
        } catch {
            return [
                Explanation(
                    PayloadStage.kind, .eventDeadLetter, "payload cannot use the notification: \(error.reason)",
                    [.init("reason", error.code), .init("path", error.path)])
            ]
        }
    }

    private func explain(_ push: Push) -> [Explanation] {
        let payload = PayloadWriter(push.notification)
        let kept = push.kept(of: payload)
        let topics = zip(push.badge.topics, kept.byTopic).map { (topic: $0, kept: $1) }
        let pruned =
            [(push.badge.count, kept.inPayload, nil)]
            + topics.filter { $0.kept != kept.inPayload }.map {
                ($0.topic.count, $0.kept, String(decoding: $0.topic.name, as: UTF8.self))
            }
        return [kind(kept.inPayload, of: payload)]
            + pruned.compactMap { badge, kept, topic in
                kept == payload.parts ? nil : self.pruned(payload, kept, badge, topic)
            } + unfit(payload)
    }

    private func unfit(_ payload: PayloadWriter) -> [Explanation] {
        let names = payload.notification.unfitFields(includesDesired: payload.desiredFields.isIncomplete)
        guard !names.isEmpty else { return [] }
        return [
            Explanation(
                PayloadStage.kind, .payloadUnfit,
                "the payload lacks values of these fields, because their types are not allowed there: "
                    + names.joined(separator: ", "),
                [.init("fields", names)])
        ]
    }

    private func kind(_ kept: PayloadParts, of payload: PayloadWriter) -> Explanation {
        if kept.isVisible { return Explanation(PayloadStage.kind, .payloadAlert, "the push is an alert") }
        let why =
            payload.parts.isVisible
            ? "its payload has no room for an alert, a sound or a badge"
            : "its subscription sets no alert, sound or badge"
        return Explanation(PayloadStage.kind, .payloadSilent, "the push is silent: \(why)")
    }

    /// - Parameter topic: The topic whose devices get this payload; nil for all topics without a badge of their own.
    private func pruned(_ payload: PayloadWriter, _ kept: PayloadParts, _ badge: Int, _ topic: String?) -> Explanation {
        let (before, after) = (payload.bytes(payload.parts, badge), payload.bytes(kept, badge))
        let names = payload.parts.subtracting(kept).names(payload.notification)
        let whose = topic.map { " of devices of \($0)" } ?? ""
        return Explanation(
            PayloadStage.kind, .payloadPruned,
            "the payload\(whose) would have \(before) bytes, more than the \(Push.payloadBytesMax) that APNs allows: "
                + "Belfry left out \(names.joined(separator: ", "))",
            [
                .init("bytesBefore", UInt64(before)), .init("bytesAfter", UInt64(after)), .init("leftOut", names),
            ] + (topic.map { [.init("topic", $0)] } ?? []))
    }
}

extension Notification {
    /// The fields whose values the payload should contain but cannot, because of their types.
    fileprivate func unfitFields(includesDesired: Bool) -> [String] {
        let arguments = [info.body, info.title, info.subtitle].filter(\.usesArguments).compactMap(\.arguments)
        let unfitArguments = arguments.flatMap { Array($0.elements) }.filter {
            exists($0) && value($0)?.isArgument != true
        }
        let desiredKeys = includesDesired ? info.desiredKeys.map { Array($0.elements) } ?? [] : []
        let names = unfitArguments + desiredKeys.filter { exists($0) && value($0) == nil }
        return Set(names.compactMap(\.string)).sorted()
    }

    private func exists(_ name: JSONValue) -> Bool { FieldValue.exists(name, in: fields) }

    private func value(_ name: JSONValue) -> FieldValue? { FieldValue(named: name, in: fields) }

    fileprivate func fits(_ subject: ExplainedSubject) -> Bool {
        func isSame(_ text: String?, _ value: JSONValue) -> Bool { text.map { value.equals($0) } ?? true }
        return isSame(subject.user, user) && isSame(subject.subscriptionID, subscriptionID)
            && isSame(subject.container, container) && isSame(subject.environment, environmentName)
    }
}

extension PayloadParts {
    /// The names that the parts have in the payload, in the order in which they are left out.
    fileprivate func names(_ notification: Notification) -> [String] {
        let keys = notification.info.desiredKeys.map { $0.elements.map { "af.\($0.string ?? "")" } } ?? []
        let fields = zip(PayloadParts.fields, keys).map { (part: $0, name: $1) }
        return (fields.reversed() + PayloadParts.named).filter { contains($0.part) }.map(\.name)
    }
}
