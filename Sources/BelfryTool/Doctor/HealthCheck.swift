import PipelineKit
import PipelineRuntime
import ZeroMQ

/// Whether the stages answer, where the pipeline runs at all, and what they say.
struct HealthCheck: DoctorCheck {
    static let name = "health"
    /// How long all of them together are waited for.
    static let patience = Duration.seconds(1)

    func findings(in patient: Patient) async throws -> [Finding] {
        guard patient.logs == nil, let file = patient.file else { return [] }
        let answers = try await Self.ask(file)
        guard answers.contains(where: { $0.answer != nil }) else {
            return [Finding(.note, "health.not_running", "the pipeline is not running: no stage answers")]
        }
        let found = answers.compactMap(Self.finding)
        if !found.isEmpty { return found }
        let names = answers.map(\.stage).joined(separator: ", ")
        return [Finding(.ok, "health.running", "\(names): running")]
    }

    private typealias Answer = (stage: String, answer: String?)

    /// All at once, each on a thread of its own.
    private static func ask(_ file: PipelineFile) async throws -> [Answer] {
        let context = try HostContext()
        let pipeline = try PipelineProcess(file, in: HostSurroundings(registry: .builtIns, context: context))
        return try await withThrowingTaskGroup(of: (Int, Answer).self) { group in
            for (index, plan) in pipeline.hosts.map(\.plan).enumerated() {
                group.addTask {
                    let answer = try await SocketThread.run(name: "doctor \(plan.stage)") {
                        try HealthProbe(plan, context).ask(timeout: patience)
                    }
                    return (index, (plan.stage, answer))
                }
            }
            var answers: [(Int, Answer)] = []
            for try await answer in group { answers.append(answer) }
            return answers.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    /// Nil for a stage that runs.
    private static func finding(_ stage: String, _ answer: String?) -> Finding? {
        guard let answer else {
            return Finding(
                .error, "health.silent", "\(stage) does not answer, though others do",
                fix: "see what it said when it ended; start it with `belfry up`, or by itself", ["stage": .text(stage)])
        }
        guard let health = StageHealth(answer) else {
            return Finding(
                .error, "health.other", "what answers in \(stage)'s place is no stage of ours", ["stage": .text(stage)])
        }
        return finding(stage, health)
    }

    static func finding(_ stage: String, _ health: StageHealth) -> Finding? {
        let details: KeyValuePairs<String, ReportValue> = ["stage": .text(stage), "phase": .text(health.phase)]
        switch HostReport.Phase(rawValue: health.phase) {
        case .running: return nil
        case .diskFull:
            return Finding(
                .error, "health.disk_full", "\(stage) has no room for its log and takes nothing in",
                fix: "make room: it goes on by itself", details)
        case .rebuilding, .starting:
            return Finding(.note, "health.starting", "\(stage) is not ready yet: \(health.phase)", details)
        default:
            return Finding(.warning, "health.not_ready", "\(stage) is not ready: \(health.phase)", details)
        }
    }
}
