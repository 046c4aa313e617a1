import BuiltIns
import Deliver
import Inspect
import PipelineRuntime
import Replay

/// Which apps are stopped: their transport takes nothing from them until somebody mends what it names.
struct AppsCheck: DoctorCheck {
    static let name = "apps"

    func findings(in patient: Patient) throws -> [Finding] {
        guard let place = patient.logPlace, try !LogPlace.logs(in: place).isEmpty else { return [] }
        let recorded = try RecordedPlace(patient.place, logs: patient.logs).recorded
        let state = PipelineState(recorded, MachineFactory(registry: .builtIns))
        return try state.ask(DeliverStage.self, \.stoppedApps).flatMap { stage, apps in
            apps.map { Self.finding(stage, $0) }
        }
    }

    private static func finding(_ stage: String, _ app: DeliverStage.StoppedApp) -> Finding {
        let name = [app.container, app.environment, app.topic].compactMap(\.self).joined(separator: " ")
        return Finding(
            .warning, "app.stopped",
            "\(stage): \(app.transport) takes nothing from \(name): \(app.waiting.of("push")) waiting, next try at \(app.probeAt)",
            fix: fix(stage, app),
            [
                "stage": .text(stage), "app": .text(name), "transport": .text(app.transport),
                "waiting": .count(app.waiting),
            ])
    }

    private static func fix(_ stage: String, _ app: DeliverStage.StoppedApp) -> String {
        guard app.isOfUnknownDevices else {
            return "belfry doctor apns says what is wrong; app.stopped in the log of \(stage) has the answer"
        }
        return "its devices are unknown there, and none was known yet: \(DeliverStage.StoppedApp.remedyOfSuspicion)"
    }
}
