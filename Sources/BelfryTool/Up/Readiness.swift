import Events
import Glibc
import JSON
import PipelineRuntime
import Synchronization
import ZeroMQ

/// Waits until stages are running.
final class Readiness: Sendable {
    private static let pauseMilliseconds: Int32 = 25

    private let isStopped = Atomic(false)

    /// - Parameter isOurs: Returns false if another process at the same address gave the answer.
    /// - Returns: The answer of the running stage; nil after ``stop()``.
    func wait(
        for plan: HostPlan, _ context: HostContext, isOurs: @escaping @Sendable (StageHealth) -> Bool
    ) async throws -> StageHealth? {
        try await SocketThread.run(name: "ready \(plan.stage)") { [self] in
            let probe = try HealthProbe(plan, context)
            while !isStopped.load(ordering: .relaxed) {
                guard let answer = try probe.ask(timeout: .milliseconds(200)) else { continue }
                if let health = StageHealth(answer), health.isRunning || health.isStandingBy, isOurs(health) {
                    return health
                }
                // The stage answers, so the next question would get an answer at once. Wait a little.
                poll(nil, 0, Readiness.pauseMilliseconds)
            }
            return nil
        }
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }
}

/// A stage's answer to a question about its health.
struct StageHealth: Hashable, Sendable {
    var stage: String
    var phase: String
    var log: String
    /// The identity of the log; nil before the log is open.
    var identity: String?
    var first: UInt64
    var last: UInt64
    var pid: Int64
    /// See ``HostReport/clockBehind``; in whole seconds.
    var clockBehind = Duration.zero

    var isStandingBy: Bool { phase == HostReport.Phase.standingBy.rawValue }
    var isRunning: Bool { phase == HostReport.Phase.running.rawValue }

    /// Nil if the text is not a valid answer.
    init?(_ text: String) {
        var parser = JSONParser(limits: JSONLimits(bytesMax: 1 << 20))
        let found = Array(text.utf8).withUnsafeBytes { bytes -> StageHealth? in
            do throws(JSONError) { return StageHealth(try parser.parse(bytes)) } catch { return nil }
        }
        guard let found else { return nil }
        self = found
    }

    private init?(_ json: JSONValue) {
        guard let stage = json[.stage]?.string, let phase = json["phase"]?.string, let log = json[.log]?.string,
            let first = json[.first]?.int64, let last = json[.last]?.int64, let pid = json["pid"]?.int64
        else { return nil }
        (self.stage, self.phase, self.log, self.pid) = (stage, phase, log, pid)
        identity = json["identity"]?.string
        clockBehind = .seconds(json["clockBehindSeconds"]?.int64 ?? 0)
        (self.first, self.last) = (UInt64(max(0, first)), UInt64(max(0, last)))
    }
}
