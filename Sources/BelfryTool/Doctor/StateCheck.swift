import BuiltIns
import Events
import Inspect
import PipelineKit
import PipelineRuntime
import Replay
import Synchronization

/// A check that stages make themselves; see ``InspectableStage/findings(of:)``.
struct StateCheck: DoctorCheck {
    let name: String
    /// Whether it reports snapshots that cannot be used. Only the first check does.
    private let tellsOfSnapshots: Bool

    /// One for each name, in the order in which the stages' logs are made from each other.
    static var all: [StateCheck] {
        let registry = Registry.builtIns
        let known = LogKind.allCases.compactMap(registry.kind(writing:))
        let others = registry.stages.keys.filter { !known.contains($0) }.sorted()
        var checks: [StateCheck] = []
        for kind in known + others {
            guard let name = registry.stages[kind]?.checkName, !checks.contains(where: { $0.name == name }) else {
                continue
            }
            checks.append(StateCheck(name: name, tellsOfSnapshots: checks.isEmpty))
        }
        return checks
    }

    func findings(in patient: Patient) throws -> [Finding] {
        guard let place = patient.logPlace, try !LogPlace.logs(in: place).isEmpty else { return [] }
        let recorded = try RecordedPlace(patient.place, logs: patient.logs).recorded
        let passedOver = Mutex<[String]>([])
        let state = PipelineState(recorded, MachineFactory(registry: .builtIns)) { problem in
            passedOver.withLock { $0.append(problem) }
        }
        let found = try state.findings(name)
        return (tellsOfSnapshots ? passedOver.withLock { $0 }.map(Self.passedOver) : []) + found
    }

    private static func passedOver(_ problem: String) -> Finding {
        Finding(.note, "snapshot.passed_over", "snapshot passed over, which costs time and no event: \(problem)")
    }
}
