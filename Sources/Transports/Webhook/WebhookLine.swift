import EventLog
import PipelineKit
import Synchronization

/// The requests of a webhook: at most so many under way, and one for each device. A request goes on to its own end, also
/// when the window that brought it waits no longer.
actor WebhookLine {
    /// What one attempt came to; nil when it was cancelled.
    typealias Attempt = @Sendable (WebhookPush) async -> TransportAnswer?

    /// How long a window waits for answers: what takes longer is asked for again.
    static let patience = Duration.seconds(2)
    /// How long an answer is kept that nobody asks for. What takes longer is asked for sooner.
    private static let lateAnswerAge = Duration.seconds(300)
    private static let longestWait = Duration.seconds(60)

    private struct Flight {
        let push: WebhookPush
        /// Who waits for its answer; nil once it has been told that it takes longer.
        var window: WebhookWindow?
        var task: Task<Void, Never>?
        /// How often a window ended before its answer came.
        var handouts = 0
    }

    private let concurrency: Int
    private let attempt: Attempt
    private let now: @Sendable () -> Instant
    private let pause: @Sendable (Duration) async throws -> Void
    private var waiting: [(push: WebhookPush, window: WebhookWindow)] = []
    private var flights: [Delivery.ID: Flight] = [:]
    private var busyDevices: Set<[String]> = []
    /// Those with a request of an earlier window, when this one began.
    private var lateDevices: Set<[String]> = []
    private var lateAnswers: [Delivery.ID: (answer: TransportAnswer, since: Instant)] = [:]
    /// Windows in a row that ended without any answer of the server's.
    private var silentWindows = 0
    private let allowance: Atomic<Int>

    /// - Parameter pause: Waits; throws when cancelled.
    init(
        concurrency: Int, now: @escaping @Sendable () -> Instant,
        pause: @escaping @Sendable (Duration) async throws -> Void, attempt: @escaping Attempt
    ) {
        (self.concurrency, self.now, self.pause, self.attempt) = (concurrency, now, pause, attempt)
        allowance = Atomic(concurrency)
    }

    /// How many pushes it takes at a time.
    nonisolated var inFlightMax: Int { allowance.load(ordering: .relaxed) }

    /// One answer for each push; where the task is cancelled, or a request, those that there are.
    func deliver(_ pushes: [WebhookPush]) async -> [TransportAnswer] {
        forgetOldAnswers()
        let window = WebhookWindow()
        lateDevices = Set(flights.values.map(\.push.lane))
        for push in pushes { take(push, window) }
        start()
        await wait(for: window)
        end(window)
        return window.answers
    }

    // MARK: Windows

    /// A push that is still under way is not sent twice.
    private func take(_ push: WebhookPush, _ window: WebhookWindow) {
        let id = push.delivery.id
        if let late = lateAnswers.removeValue(forKey: id) { return window.answers.append(late.answer) }
        window.open.insert(id)
        // Nothing waits for what takes long, and for what is behind it.
        if !lateDevices.contains(push.lane) { window.awaited.insert(id) }
        if flights[id] != nil { flights[id]?.window = window } else { waiting.append((push, window)) }
    }

    /// A server that has been silent since the last window is given no time.
    private func wait(for window: WebhookWindow) async {
        guard !window.awaited.isEmpty, silentWindows == 0 else { return }
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        window.ended = end
        let pause = pause
        let patience = Task {
            do { try await pause(Self.patience) } catch { return }
            end.finish()
        }
        // A cancelled task ends its iteration.
        for await _ in ended {}
        patience.cancel()
    }

    private func end(_ window: WebhookWindow) {
        waiting.removeAll { $0.window === window }
        if Task.isCancelled { return abandon(window) }
        if !window.open.isEmpty, window.answers.allSatisfy({ $0.status == nil }) { silentWindows += 1 }
        for id in window.open { window.answers.append(deferral(of: id)) }
        noteAllowance()
    }

    /// Nobody will ask for the answers.
    private func abandon(_ window: WebhookWindow) {
        for id in window.open { flights[id]?.task?.cancel() }
    }

    private func deferral(of id: Delivery.ID) -> TransportAnswer {
        let tries = flights[id]?.handouts ?? max(0, silentWindows - 1)
        flights[id]?.handouts += 1
        flights[id]?.window = nil
        let wait = min(.seconds(1) * (1 << min(tries, 6)), Self.longestWait)
        return TransportAnswer(
            id, .deferred, reason: flights[id] == nil ? "waits for room" : "in_flight", attempts: 0,
            until: now().advanced(by: wait))
    }

    // MARK: Requests

    private func start() {
        var rest: [(push: WebhookPush, window: WebhookWindow)] = []
        for next in waiting {
            if flights.count < concurrency, busyDevices.insert(next.push.lane).inserted {
                send(next.push, next.window)
            } else {
                rest.append(next)
            }
        }
        waiting = rest
    }

    private func send(_ push: WebhookPush, _ window: WebhookWindow) {
        let attempt = attempt
        flights[push.delivery.id] = Flight(push: push, window: window)
        flights[push.delivery.id]?.task = Task { finish(push, await attempt(push)) }
    }

    private func finish(_ push: WebhookPush, _ answer: TransportAnswer?) {
        let id = push.delivery.id
        let window = flights.removeValue(forKey: id)?.window
        busyDevices.remove(push.lane)
        if answer?.status != nil { silentWindows = 0 }
        if let window {
            window.settle(id, answer)
        } else if let answer {
            lateAnswers[id] = (answer, now())
        }
        start()
        noteAllowance()
    }

    private func forgetOldAnswers() {
        guard !lateAnswers.isEmpty else { return }
        let now = now()
        lateAnswers = lateAnswers.filter { now - $0.value.since < Self.lateAnswerAge }
        noteAllowance()
    }

    /// Pushes that were told to take longer are not on record as over, whether they are or not.
    private func noteAllowance() {
        let late = flights.values.count { $0.window == nil } + lateAnswers.count
        allowance.store(max(1, concurrency - late), ordering: .relaxed)
    }
}

/// Pushes that were handed out together. Belongs to the line.
final class WebhookWindow {
    /// Those that are not answered.
    var open: Set<Delivery.ID> = []
    /// Those of them that it waits for.
    var awaited: Set<Delivery.ID> = []
    var answers: [TransportAnswer] = []
    /// Ends the wait.
    var ended: AsyncStream<Void>.Continuation?

    /// - Parameter answer: Nil where there will be none.
    func settle(_ id: Delivery.ID, _ answer: TransportAnswer?) {
        open.remove(id)
        awaited.remove(id)
        if let answer { answers.append(answer) }
        if awaited.isEmpty { ended?.finish() }
    }
}
