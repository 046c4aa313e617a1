import Events
import JSON
import PipelineRuntime

/// Asks one stage for its position and its pauses.
struct StageProbe {
    struct Answer: Hashable {
        var isRunning: Bool
        /// The last sequence of the stage's log.
        var last: UInt64
        /// The last sequence of its upstream's log that the stage has read.
        var lastRead: UInt64
        /// The longest pause for each cause.
        var pauses: [StagePause]
    }

    private let probe: HealthProbe
    private let timeout: Duration

    init(_ plan: HostPlan, _ context: HostContext, timeout: Duration = .milliseconds(500)) throws {
        probe = try HealthProbe(plan, context)
        self.timeout = timeout
    }

    /// - Parameter forgetsPauses: Whether the next answer leaves out the pauses before this answer.
    /// - Returns: Nil if the stage does not answer in time, or its answer is incomplete.
    func ask(forgetsPauses: Bool = false) throws -> Answer? {
        guard let answer = try probe.ask(timeout: timeout, forgetsPauses: forgetsPauses) else { return nil }
        var parser = JSONParser(limits: JSONLimits(bytesMax: 1 << 20))
        return try Array(answer.utf8).withUnsafeBytes { bytes in
            let json = try parser.parse(bytes)
            guard let phase = json.text("phase"), let last = json.natural(.last), let lastRead = json.natural("taken")
            else { return nil }
            let pauses = json["pauses"]?.elements.compactMap(StagePause.init) ?? []
            return Answer(
                isRunning: phase == HostReport.Phase.running.rawValue, last: last, lastRead: lastRead,
                pauses: pauses)
        }
    }
}
