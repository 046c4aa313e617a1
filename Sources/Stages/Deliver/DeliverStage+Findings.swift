import PipelineKit

/// Apps that are stopped: their transport takes nothing from them until somebody mends what it names.
extension DeliverStage {
    package static let checkName: String? = "apps"

    package func findings(of name: String) -> [StageFinding] {
        stoppedApps.map { stopped in
            let app = [stopped.container, stopped.environment, stopped.topic].compactMap(\.self).joined(separator: " ")
            return StageFinding(
                .warning, "app.stopped",
                "\(name): \(stopped.transport) takes nothing from \(app): \(stopped.waiting.of("push")) waiting, "
                    + "next try at \(stopped.probeAt)",
                fix: DeliverStage.fix(name, stopped),
                [
                    .init("stage", name), .init("app", app), .init("transport", stopped.transport),
                    .init("waiting", UInt64(stopped.waiting)),
                ])
        }
    }

    private static func fix(_ name: String, _ app: StoppedApp) -> String {
        app.isOfUnknownDevices
            ? "its devices are unknown there, and none was known yet: \(StoppedApp.remedyOfSuspicion)"
            : "belfry doctor apns says what is wrong; app.stopped in the log of \(name) has the answer"
    }
}
