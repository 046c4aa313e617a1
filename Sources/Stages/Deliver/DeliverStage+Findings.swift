import JSON
import PipelineKit

/// Reports to the operator about stopped apps, and about devices whose transport the pipeline does not have.
extension DeliverStage {
    package static let checkName: String? = "apps"

    package func findings(of name: String) -> [StageFinding] {
        registry.apps.held.compactMap { app in registry.apps[app].hold.map { finding(name, app, $0) } }
    }

    private func finding(_ name: String, _ app: Int, _ hold: AppHold) -> StageFinding {
        let (key, waiting) = (registry.apps.keys[app], pending.held(of: app).count)
        return StageFinding(
            .warning, "app.stopped",
            "\(name): \(key.transport) rejects every push of \(key.appText): \(waiting.of("push")) waiting, "
                + hold.nextTry,
            fix: registry.apps[app].seemsMisconfigured
                ? "the transport has not accepted a push of this app yet. \(Self.remedyOfSuspicion)"
                : "belfry doctor apns says what is wrong; app.stopped in the log of \(name) has the transport's answer",
            [
                .init("stage", name), .init("app", key.appText), .init("transport", key.transport),
                .init("waiting", UInt64(waiting)),
            ])
    }

    /// Tells the operator that the stage itself has stopped the app. If a transport stops an app, the transport tells
    /// the operator.
    func reportSuspicion(of app: Int, into out: inout Outbox) {
        let key = registry.apps.keys[app]
        out.tell(
            "\(key.transport): \(key.appText): Belfry stops sending: \(Self.suspicion) "
                + "\(Self.remedyOfSuspicion). The app's pushes wait and are tried again")
    }

    func reportRecovery(of app: Int, into out: inout Outbox) {
        let key = registry.apps.keys[app]
        out.tell("\(key.transport): \(key.appText): the transport accepted a push, so the app's pushes are sent again")
    }

    /// Tells the operator that no push can reach a device. Called for the first such device of each ``AppKey``.
    func reportUnknownTransport(of registration: Registration, into out: inout Outbox) {
        let key = AppKey(transport: registration.transport, app: registration.app)
        let names = settings.transports.map(\.name)
        let hint = Spelling.suggestion(for: key.transport, among: names).map { "; \($0)" } ?? ""
        out.tell(
            "\(key.transport.printable): \(key.appText.printable): the pipeline has no such transport, but device "
                + "\(registration.device.name.printable) registered with it\(hint)")
    }

    /// What to do if the push service knows no device of an app.
    private static let remedyOfSuspicion =
        "Compare the transport's host and the app's environment and topic with the values in the app's build, and the "
        + "registered tokens with the tokens that the app received (belfry doctor apns does not show which tokens "
        + "the transport knows)"
}
