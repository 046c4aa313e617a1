import EventLog
import Inspect
import PipelineKit
import PipelineRuntime
import ZeroMQ

/// Whether the stages answer, where the pipeline runs at all, and what they say.
struct HealthCheck: DoctorCheck {
    let name = "health"
    /// How long all of them together are waited for.
    static let patience = Duration.seconds(1)

    func findings(in patient: Patient) async throws -> [Finding] {
        guard patient.logs == nil, let file = patient.file else { return [] }
        let answers = try await Self.ask(file, patient.keys)
        guard answers.contains(where: { $0.answer != nil || $0.refusal != nil }) else {
            return [Finding(.note, "health.not_running", "the pipeline is not running: no stage answers")]
        }
        let found = try answers.compactMap { answer in
            try answer.refusal.map { Self.refused(answer.plan, $0) } ?? Self.finding(answer.plan, answer.answer)
        }
        if !found.isEmpty { return found }
        let names = answers.map(\.plan.stage).joined(separator: ", ")
        return [Finding(.ok, "health.running", "\(names): running")]
    }

    private typealias Answer = (plan: HostPlan, answer: String?, refusal: LinkError?)

    /// All at once, each on a thread of its own.
    private static func ask(_ file: PipelineFile, _ keys: CurveKeyPair?) async throws -> [Answer] {
        let context = try HostContext()
        var surroundings = HostSurroundings(registry: .builtIns, context: context)
        surroundings.toolKeys = keys
        let pipeline = try PipelineProcess(file, in: surroundings)
        return try await withThrowingTaskGroup(of: (Int, Answer).self) { group in
            for (index, plan) in pipeline.hosts.map(\.plan).enumerated() {
                group.addTask {
                    let (answer, refusal) = try await SocketThread.run(name: "doctor \(plan.stage)") {
                        let probe = try HealthProbe(plan, context)
                        return (try probe.ask(timeout: patience), try probe.refusal(isCertain: false))
                    }
                    return (index, (plan, answer, answer == nil ? refusal : nil))
                }
            }
            var answers: [(Int, Answer)] = []
            for try await answer in group { answers.append(answer) }
            return answers.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private static func refused(_ plan: HostPlan, _ refusal: LinkError) -> Finding {
        var fix = "list the key under `curve: readers` and reload; or look with another one: --key FILE"
        if case .notLetIn(_, .otherServerKey, _) = refusal {
            fix =
                "have the stage read its pipeline file again (SIGHUP) if its key there is new; else put the stage's key there"
        }
        return Finding(
            .error, "health.refused", "\(plan.stage) runs and does not let the doctor in: \(refusal)", fix: fix,
            ["stage": .text(plan.stage)])
    }

    /// Nil for a stage that runs.
    private static func finding(_ plan: HostPlan, _ answer: String?) throws -> Finding? {
        guard let answer else {
            return Finding(
                .error, "health.silent", "\(plan.stage) does not answer, though others do",
                fix: "see what it said when it ended; start it with `belfry up`, or by itself",
                ["stage": .text(plan.stage)])
        }
        guard let health = StageHealth(answer), try isOurs(health, plan) else {
            return Finding(
                .error, "health.other", "what answers at \(plan.bind) is not \(plan.stage) of this pipeline",
                fix: "two pipelines share an address: give one of them another with bind:", ["stage": .text(plan.stage)]
            )
        }
        return finding(plan.stage, health)
    }

    /// Whether the log that a stage says it writes is the one that lies here.
    private static func isOurs(_ health: StageHealth, _ plan: HostPlan) throws -> Bool {
        guard health.stage == plan.stage, let identity = health.identity else { return health.stage == plan.stage }
        let directory = plan.logsDirectory + "/" + plan.logName
        guard LogPlace.isLog(directory) else { return false }
        return try EventLogs.summary(directory: directory).identity.description == identity
    }

    /// Nil where the machine's clock and the log's time agree.
    private static func clock(_ stage: String, _ behind: Duration) -> Finding? {
        guard behind != .zero else { return nil }
        let difference = LogTime.text(behind)
        let what =
            behind > .zero
            ? "\(stage): the machine's clock is \(difference) behind the log's time, which goes on from where it is"
            : "\(stage): the machine's clock went forward at once; the log's time follows, and is \(difference) behind it"
        return Finding(
            .warning, "health.clock", what,
            fix:
                "set the clock right if it is wrong (`timedatectl`); if the log is, leave it: nothing is held up by that "
                + "(the manual, Guarantees: Time goes on)",
            ["stage": .text(stage), "clockBehindSeconds": .number(Double(behind.components.seconds))])
    }

    static func finding(_ stage: String, _ health: StageHealth) -> Finding? {
        let details: KeyValuePairs<String, ReportValue> = ["stage": .text(stage), "phase": .text(health.phase)]
        switch HostReport.Phase(rawValue: health.phase) {
        case .running: return clock(stage, health.clockBehind)
        case .diskFull:
            return Finding(
                .error, "health.disk_full", "\(stage) has no room for its log and takes nothing in",
                fix: "make room: it goes on by itself", details)
        case .waitingForProgram:
            return Finding(
                .warning, "health.program",
                "\(stage) waits for its program, which is not there or does not answer; what the program and its host say is "
                    + "on the standard error of belfry up", details)
        case .rebuilding, .starting:
            return Finding(.note, "health.starting", "\(stage) is not ready yet: \(health.phase)", details)
        default:
            return Finding(.warning, "health.not_ready", "\(stage) is not ready: \(health.phase)", details)
        }
    }
}
