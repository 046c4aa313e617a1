import BuiltIns
import Events
import Inspect
import PipelineKit
import PipelineRuntime
import Replay
import Synchronization

/// A check that a stage makes of its own state; see ``InspectableStage/findings(of:)``.
struct StateCheck: DoctorCheck {
    let name: String

    /// One check for each kind of stage that checks its own state: from ingest to deliver, then other kinds by name.
    static var all: [StateCheck] {
        let registry = Registry.builtIns
        let known = LogKind.allCases.compactMap(registry.kind(writing:))
        let others = registry.stages.keys.filter { !known.contains($0) }.sorted()
        var checks: [StateCheck] = []
        for kind in known + others {
            guard let name = registry.stages[kind]?.checkName, !checks.contains(where: { $0.name == name }) else {
                continue
            }
            checks.append(StateCheck(name: name))
        }
        return checks
    }

    func findings(in target: DoctorTarget) throws -> [Finding] {
        guard let place = target.logsPath, try !LogPlace.logs(in: place).isEmpty else { return [] }
        let recorded = try RecordedPlace(target.path, logs: target.logs, onlyOfHost: target.logs == nil).recorded
        let problems = Mutex<[String]>([])
        let state = PipelineState(recorded, MachineFactory(registry: .builtIns)) { problem in
            problems.withLock { $0.append(problem) }
        }
        let found = try state.findings(name)
        let skipped = problems.withLock { $0 }.map {
            Finding(.note, "snapshot.passed_over", "skipped a snapshot, which costs time but loses no event: \($0)")
        }
        return skipped + found + elsewhere(target)
    }

    /// A note for each stage that would make this check, but cannot make it on this host.
    private func elsewhere(_ target: DoctorTarget) -> [Finding] {
        guard target.logs == nil, let file = target.file, let host = file.host else { return [] }
        let here = file.stagesOfHostWithInput.map(\.name)
        return file.stagesInOrder.filter { stage in
            stage.command.isEmpty && Registry.builtIns.stages[stage.kind]?.checkName == name
                && !here.contains(stage.name)
        }.map { stage in
            let reason =
                host.runs(stage)
                ? "it has no log of \(stage.from ?? ""), which \(stage.name) reads" : "it does not run \(stage.name)"
            let others = file.hosts(running: [stage, file.upstream(of: stage)].compactMap(\.self))
            return Finding(
                .note, "state.elsewhere", "not checked on host \(host.name): \(reason)",
                fix: others.isEmpty ? nil : "run this check on host \(others.joined(separator: " or "))",
                ["stage": .text(stage.name)])
        }
    }
}
