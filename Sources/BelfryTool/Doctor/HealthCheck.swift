import EventLog
import Inspect
import PipelineKit
import PipelineRuntime
import ZeroMQ

/// Checks the health of the stages and of the gateway, if the pipeline is running.
struct HealthCheck: DoctorCheck {
    let name = "health"
    /// How long to wait for the answers of all stages.
    static let timeout = Duration.seconds(1)

    func findings(in target: DoctorTarget) async throws -> [Finding] {
        guard target.logs == nil, let file = target.file, file.hosts.isEmpty else { return [] }
        let answers = try await Self.ask(file, target.keys)
        guard answers.contains(where: { $0.health != nil || $0.refusal != nil }) else {
            return [Finding(.note, "health.not_running", "the pipeline is not running: no stage answers")]
        }
        let gateway = try Self.gateway(of: file, target.path)
        var found = try answers.compactMap { answer in
            try answer.refusal.map { Self.refused(answer.plan, $0) } ?? Self.finding(answer.plan, answer.health)
        }
        if let gateway, let silent = try await Self.finding(gateway) { found.append(silent) }
        if !found.isEmpty { return found }
        let names = answers.map(\.plan.stage) + (gateway == nil ? [] : [PipelineFile.gatewayName])
        return [Finding(.ok, "health.running", "\(names.joined(separator: ", ")): running")]
    }

    /// The health of a stage as its host reports it in JSON, or the reason why the host refuses to answer. Both are nil
    /// if the host does not answer.
    private typealias Answer = (plan: HostPlan, health: String?, refusal: LinkError?)

    /// Asks all stages at the same time.
    private static func ask(_ file: PipelineFile, _ keys: CurveKeyPair?) async throws -> [Answer] {
        let context = try HostContext()
        var surroundings = HostSurroundings(registry: .builtIns, context: context)
        surroundings.toolKeys = keys
        let pipeline = try PipelineProcess(file, in: surroundings)
        let plans = pipeline.hosts.map(\.plan)
        return try await withThrowingTaskGroup(of: Answer.self) { group in
            for plan in plans {
                group.addTask {
                    try await SocketThread.run(name: "doctor \(plan.stage)") {
                        let probe = try HealthProbe(plan, context)
                        let health = try probe.ask(timeout: timeout)
                        return (plan, health, health == nil ? try probe.refusal(onlyIfCertain: false) : nil)
                    }
                }
            }
            let answers = try await group.reduce(into: [:]) { $0[$1.plan.stage] = $1 }
            return plans.compactMap { answers[$0.stage] }
        }
    }

    private static func refused(_ plan: HostPlan, _ refusal: LinkError) -> Finding {
        let fix =
            switch refusal {
            case .connectionRefused(_, .otherServerKey, _):
                "if the pipeline file's key is new, reload the stage (SIGHUP); otherwise correct the key in the file"
            case .connectionRefused(_, .keyRequired, _): "give a key of `curve: readers` with --key FILE"
            case .connectionRefused(_, .serverHasNoKeys, _):
                "if `curve:` is new in the pipeline file, reload the stage (SIGHUP)"
            default: "add the key to `curve: readers` and reload, or use another key with --key FILE"
            }
        return Finding(
            .error, "health.refused", "\(plan.stage) is running but refuses the doctor's connection: \(refusal)",
            fix: fix, ["stage": .text(plan.stage)])
    }

    /// The problem of a stage; nil if the stage runs without a problem.
    private static func finding(_ plan: HostPlan, _ answer: String?) throws -> Finding? {
        guard let answer else {
            return Finding(
                .error, "health.silent", "\(plan.stage) does not answer, but other stages do",
                fix: "read the stage's last messages, then start it with `belfry up` or by hand",
                ["stage": .text(plan.stage)])
        }
        guard let health = StageHealth(answer), try isOurs(health, plan) else {
            return Finding(
                .error, "health.other", "the program at \(plan.bind) is not \(plan.stage) of this pipeline",
                fix: "if two pipelines use the same address, give one of them another address with bind:",
                ["stage": .text(plan.stage)])
        }
        return finding(plan.stage, health)
    }

    /// Whether the stage of this pipeline answered, and not another program. The answer must contain the stage's name.
    /// If it also contains the identity of a log, this must be the identity of the stage's log.
    private static func isOurs(_ health: StageHealth, _ plan: HostPlan) throws -> Bool {
        guard health.stage == plan.stage, let identity = health.identity else { return health.stage == plan.stage }
        let directory = plan.logsDirectory + "/" + plan.logName
        guard LogPlace.isLog(directory) else { return false }
        return try EventLogs.summary(directory: directory).identity.description == identity
    }

    /// A warning about the machine's clock; nil if the clock and the log's time agree, or nearly agree.
    ///
    /// - Parameter behind: How far the clock is behind the log's time; negative if the log's time is behind the clock.
    private static func clockWarning(_ stage: String, behind: Duration) -> Finding? {
        guard behind != .zero else { return nil }
        let difference = LogTime.text(behind)
        let text =
            behind > .zero
            ? "\(stage): the machine's clock is \(difference) behind the log's time, which runs slower until the two agree"
            : "\(stage): the machine's clock jumped forward; the log's time is \(difference) behind the clock and catches up"
        return Finding(
            .warning, "health.clock", text, fix: LogsCheck.clockFix,
            ["stage": .text(stage), "clockBehindSeconds": .number(Double(behind.components.seconds))])
    }

    static func finding(_ stage: String, _ health: StageHealth) -> Finding? {
        let details: KeyValuePairs<String, ReportValue> = ["stage": .text(stage), "phase": .text(health.phase)]
        switch HostReport.Phase(rawValue: health.phase) {
        case .running: return clockWarning(stage, behind: health.clockBehind)
        case .diskFull:
            return Finding(
                .error, "health.disk_full", "\(stage) has no disk space for its log and accepts no input",
                fix: "free some space; the stage then continues by itself", details)
        case .noQuorum:
            return Finding(
                .error, "health.no_quorum",
                "\(stage) waits for a majority of the NATS servers that keep its log, and accepts no input",
                fix: "start the servers; the stage then continues by itself", details)
        case .standingBy: return nil
        case .waitingForProgram:
            return Finding(
                .warning, "health.program",
                "\(stage) waits for its program, which has ended or does not answer; see the messages of both on the standard "
                    + "error of belfry up", details)
        case .rebuilding, .starting:
            return Finding(.note, "health.starting", "\(stage) is not ready yet: \(health.phase)", details)
        default:
            return Finding(.warning, "health.not_ready", "\(stage) is not ready: \(health.phase)", details)
        }
    }
}
