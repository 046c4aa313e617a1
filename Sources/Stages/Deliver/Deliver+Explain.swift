import Events
import JSON
import PipelineKit
import Time

extension DeliverStage {
    /// Explains what happens to a push at each device of its user that `subject` includes, sorted by device name.
    package func explain(
        _ event: borrowing InputEvent, at now: Instant, for subject: ExplainedSubject
    ) -> [Explanation] {
        guard event.isOfType(EventName.push) else { return [] }
        do throws(Rejection) {
            let push = try Push(event.json)
            guard subject.user.map({ push.userName.equals($0) }) ?? true else { return [] }
            let devices = registry.devices(of: push.user)?.filter { device in
                subject.device.map { device.isNamed($0) } ?? true
            }
            guard let devices, !devices.isEmpty else { return [noDevice(push, subject.device)] }
            return devices.map { explain(push, to: $0, at: now) }
        } catch {
            return [
                Explanation(
                    DeliverStage.kind, .eventDeadLetter, "deliver cannot use the push: \(error.reason)",
                    [.init("reason", error.code), .init("path", error.path)])
            ]
        }
    }

    private func noDevice(_ push: Push, _ device: String?) -> Explanation {
        let user = push.userName.string ?? ""
        return Explanation(
            DeliverStage.kind, .deviceNone,
            device.map { "\(user) has no device \($0)" } ?? "\(user) has no device",
            [.init(Member.user.description, push.userName)])
    }

    private func explain(_ push: Push, to device: Device, at now: Instant) -> Explanation {
        let details: [Explanation.Detail] = [.init("device", device.name), .init("transport", device.transport)]
        if push.isFrom(device) {
            return Explanation(DeliverStage.kind, .originExcluded, "\(device.name) made the change", details)
        }
        guard device.hasTransport else {
            return Explanation(
                DeliverStage.kind, .transportUnknown,
                "\(device.name) registered with transport \(device.transport), which the pipeline does not have",
                details)
        }
        if settings.expired == .drop, PushHeaders(push.headers).isExpired(at: now) {
            return Explanation(
                DeliverStage.kind, .pushExpired, "the push expired before deliver sent it to \(device.name)", details)
        }
        if let hold = registry.apps[device.appIndex].hold {
            return Explanation(
                DeliverStage.kind, .appStopped,
                "transport \(device.transport) rejects every push of the app of \(device.name), so the app's "
                    + "pushes wait: \(hold.nextTry)", details)
        }
        return Explanation(
            DeliverStage.kind, .transportKnown, "\(device.name) is reached through transport \(device.transport)",
            details)
    }
}
