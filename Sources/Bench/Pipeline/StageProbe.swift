import Events
import JSON
import PipelineRuntime

/// Asks one stage how far it has come.
struct StageProbe {
    struct Positions: Hashable {
        var isRunning: Bool
        /// Last sequence of its log.
        var last: UInt64
        /// Last sequence of its upstream's log that it has taken.
        var taken: UInt64
        /// The longest pause for each cause.
        var pauses: [StagePause]
    }

    private let probe: HealthProbe
    private let patience: Duration

    init(_ plan: HostPlan, _ context: HostContext, patience: Duration = .milliseconds(500)) throws {
        probe = try HealthProbe(plan, context)
        self.patience = patience
    }

    /// Nil when no answer came in time.
    ///
    /// - Parameter forgetsPauses: The next answer tells of pauses from then on.
    func positions(forgetsPauses: Bool = false) throws -> Positions? {
        guard let answer = try probe.ask(timeout: patience, forgetsPauses: forgetsPauses) else { return nil }
        var parser = JSONParser(limits: JSONLimits(bytesMax: 1 << 20))
        return try Array(answer.utf8).withUnsafeBytes { bytes in
            let json = try parser.parse(bytes)
            guard let phase = json.text("phase"), let last = json.natural(.last), let taken = json.natural("taken")
            else {
                return nil
            }
            let pauses = json["pauses"]?.elements.compactMap(StagePause.init) ?? []
            return Positions(
                isRunning: phase == HostReport.Phase.running.rawValue, last: last, taken: taken, pauses: pauses)
        }
    }
}
