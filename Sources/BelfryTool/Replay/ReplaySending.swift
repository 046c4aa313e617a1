import Dispatch
import PipelineKit
import PipelineRuntime
import Replay
import Synchronization
import Time

/// Sends the pushes of a replayed stage again, through a transport of the pipeline. A push that the stage hands out
/// several times is sent only once.
///
/// The replay sends at most 256 pushes at a time, and waits for their answers before it sends more. The stages still
/// get the recorded answers.
final class ReplaySending: ReplayWatch {
    let route: TransportRoute
    private let transport: any Transport
    private let pace: ReplayPace
    private let focus: ReplayFocus?
    private let groups = AsyncStream.makeStream(of: [Delivery].self)
    private let answered = DispatchSemaphore(value: 0)
    private let tally: Mutex<SentPushes>
    private let handedOut = Mutex<Set<Delivery.ID>>([])

    private static let groupMax = 256

    init(_ route: TransportRoute, _ transport: any Transport, speed: Double?, only focus: ReplayFocus?) {
        (self.route, self.transport, self.focus) = (route, transport, focus)
        pace = ReplayPace(speed: speed)
        tally = Mutex(SentPushes(transport: route.binding.name))
    }

    var sent: SentPushes { tally.withLock { $0 } }

    func observe(_ output: MachineOutput, of stage: RecordedStage, at now: Instant) throws {
        guard stage.name == route.stage else { return }
        var rest = handedOut.withLock { handedOut in
            output.deliveries.filter { delivery in
                delivery.transport == route.binding.name && focus?.concerns(delivery.line) ?? true
                    && handedOut.insert(delivery.id).inserted
            }
        }[...]
        if !rest.isEmpty { pace.waitForGap(before: now) }
        while !rest.isEmpty {
            groups.continuation.yield(Array(rest.prefix(ReplaySending.groupMax)))
            answered.wait()
            rest = rest.dropFirst(ReplaySending.groupMax)
        }
    }

    /// Keeps the transport open while `replay` runs. If the replay fails, prints how many of the sent pushes were
    /// accepted, refused and deferred.
    func keepingTransportOpen<Result: Sendable>(
        during replay: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await transport.open()
        async let delivering: Void = deliver()
        do {
            let result = try await replay()
            groups.continuation.finish()
            await delivering
            return result
        } catch {
            groups.continuation.finish()
            await delivering
            for line in sent.lines { StandardError.write(line) }
            throw error
        }
    }

    private func deliver() async {
        for await group in groups.stream {
            let answers = await transport.deliver(group)
            tally.withLock { $0.add(answers) }
            answered.signal()
        }
        await transport.close()
    }
}

/// Counts a transport's answers to the pushes of a replay.
struct SentPushes: Sendable {
    let transport: String
    private(set) var accepted = 0
    private(set) var refused = 0
    /// How many pushes the transport answered with `deferred`: it has not finished them, or a stage would have to hand
    /// them out again later. The replay does not hand them out again.
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
            let reason = [answer.status.map(String.init), answer.reason].joined() ?? "no reason given"
            reasons[answer.outcome == .deferred ? "deferred: \(reason)" : reason, default: 0] += 1
        }
    }

    var areAllAccepted: Bool { refused + deferred == 0 }

    /// The text for the progress line.
    var text: String { "\(accepted.grouped) accepted, \(refused.grouped) refused\(deferredText)" }

    private var deferredText: String { deferred > 0 ? ", \(deferred.grouped) deferred" : "" }

    /// The final report, the most frequent reasons first.
    var lines: [String] {
        let counted = reasons.sorted { $0.value == $1.value ? $0.key < $1.key : $0.value > $1.value }
        let shown = counted.prefix(SentPushes.reasonsMax)
        return [
            "\(transport): \((accepted + refused + deferred).of("push")) given to it; \(accepted.grouped) accepted, "
                + "\(refused.grouped) refused\(deferredText)"
        ]
            + shown.map { "  \($0.value.grouped) × \($0.key.printable)" }
            + (counted.count > shown.count ? ["  … and \((counted.count - shown.count).of("more reason"))"] : [])
    }
}
