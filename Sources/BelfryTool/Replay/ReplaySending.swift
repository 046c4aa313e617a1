import Dispatch
import PipelineKit
import PipelineRuntime
import Replay
import Synchronization
import Time

/// Sends the pushes of a replay out again, through one of the pipeline's own transports.
///
/// One window is out at a time, and the replay waits for its answers. They change nothing in the replay, which goes by
/// the recorded ones.
final class ReplaySending: ReplayWatch {
    let route: ReplayRoute
    private let transport: any Transport
    private let pace: ReplayPace
    private let focus: ReplayFocus?
    private let windows = AsyncStream.makeStream(of: [Delivery].self)
    private let answered = DispatchSemaphore(value: 0)
    private let tally: Mutex<SentPushes>

    /// How many pushes a transport is given at once.
    private static let windowMax = 256

    /// - Parameter focus: What alone is sent; nil: everything.
    init(_ route: ReplayRoute, _ transport: any Transport, speed: Double?, only focus: ReplayFocus?) {
        (self.route, self.transport, self.focus) = (route, transport, focus)
        pace = ReplayPace(speed: speed)
        tally = Mutex(SentPushes(transport: route.name))
    }

    /// What was sent so far.
    var sent: SentPushes { tally.withLock { $0 } }

    func take(_ output: MachineOutput, _ stage: RecordedStage, at now: Instant) throws {
        guard stage.name == route.stage else { return }
        var rest = output.deliveries.filter { $0.transport == route.name && focus?.concerns($0.line) ?? true }[...]
        if !rest.isEmpty { pace.hold(until: now) }
        while !rest.isEmpty {
            windows.continuation.yield(Array(rest.prefix(ReplaySending.windowMax)))
            answered.wait()
            rest = rest.dropFirst(ReplaySending.windowMax)
        }
    }

    /// Holds the transport open while `replay` runs. Says what was sent also where that fails.
    func during<Result: Sendable>(_ replay: @Sendable () async throws -> Result) async throws -> Result {
        try await transport.open()
        async let over: Void = deliver()
        do {
            let result = try await replay()
            windows.continuation.finish()
            await over
            return result
        } catch {
            windows.continuation.finish()
            await over
            for line in sent.lines { StandardError.write(line) }
            throw error
        }
    }

    private func deliver() async {
        for await window in windows.stream {
            let answers = await transport.deliver(window)
            tally.withLock { $0.add(answers) }
            answered.signal()
        }
        await transport.close()
    }
}

/// What a transport said to the pushes of a replay.
struct SentPushes: Sendable {
    let transport: String
    private(set) var accepted = 0
    private(set) var refused = 0
    /// Put off by the transport: nobody asks it again.
    private(set) var deferred = 0
    private var reasons: [String: Int] = [:]

    private static let reasonsMax = 5

    init(transport: String) { self.transport = transport }

    mutating func add(_ answers: [TransportAnswer]) {
        for answer in answers {
            guard answer.outcome != .accepted else {
                accepted += 1
                continue
            }
            if answer.outcome == .deferred { deferred += 1 } else { refused += 1 }
            let words = [answer.status.map(String.init), answer.reason].compactMap { $0 }
            let reason = words.isEmpty ? "no reason given" : words.joined(separator: " ")
            reasons[answer.outcome == .deferred ? "deferred: \(reason)" : reason, default: 0] += 1
        }
    }

    /// Whether all of them were taken.
    var isWhole: Bool { refused + deferred == 0 }

    /// While it goes on.
    var text: String { "\(accepted.grouped) sent, \(refused.grouped) refused\(putOff)" }

    private var putOff: String { deferred > 0 ? ", \(deferred.grouped) deferred" : "" }

    /// When it is over, the most frequent reasons first.
    var lines: [String] {
        let counted = reasons.sorted { $0.value == $1.value ? $0.key < $1.key : $0.value > $1.value }
        let told = counted.prefix(SentPushes.reasonsMax)
        return [
            "\(transport): \((accepted + refused + deferred).of("push")) really sent; \(accepted.grouped) accepted, "
                + "\(refused.grouped) refused\(putOff)"
        ]
            + told.map { "  \($0.value.grouped) × \($0.key.printable)" }
            + (counted.count > told.count ? ["  … for \(counted.count - told.count) more reasons"] : [])
    }
}
