import EventLog
import PipelineKit
import Synchronization

/// The requests of a webhook: at most so many under way, and one for each device. A request goes on to its own end, also
/// when the window that brought it waits no longer; what is behind it keeps its order, in later windows too.
actor WebhookLine {
    /// What one attempt came to; nil when it was cancelled.
    typealias Attempt = @Sendable (WebhookPush) async -> TransportAnswer?

    /// How long a window waits for answers: what takes longer is asked for again.
    static let patience = Duration.seconds(2)
    /// How long an answer is kept that nobody asks for. What takes longer is asked for sooner.
    private static let lateAnswerAge = Duration.seconds(300)
    private static let longestWait = Duration.seconds(60)
    private static let shortestWait = Duration.seconds(1)

    private struct Flight {
        let push: WebhookPush
        let since: Instant
        /// Who waits for its answer; nil once it has been told that it takes longer.
        var window: WebhookWindow?
        var task: Task<Void, Never>?

        static let earlier = "waits for an earlier push"

        /// Why a push of its device is put off.
        func cause(of other: WebhookPush) -> String {
            let (id, waits) = (push.delivery.id, other.delivery.id)
            if id == waits { return "in_flight" }
            return id.push < waits.push ? Self.earlier : "waits for a later push"
        }
    }

    private let concurrency: Int
    private let timeout: @Sendable () -> Duration
    private let attempt: Attempt
    private let now: @Sendable () -> Instant
    private let pause: @Sendable (Duration) async throws -> Void
    private var waiting: [(push: WebhookPush, window: WebhookWindow)] = []
    private var flights: [Delivery.ID: Flight] = [:]
    /// What is under way to which device.
    private var busyDevices: [[String]: Delivery.ID] = [:]
    private var putOff = PutOffPushes()
    /// Those with a request of an earlier window, when this one began.
    private var lateDevices: Set<[String]> = []
    private var lateAnswers: [Delivery.ID: (answer: TransportAnswer, since: Instant)] = [:]
    /// Windows in a row that ended without any answer of the server's.
    private var silentWindows = 0
    private let allowance: Atomic<Int>

    /// - Parameters:
    ///   - timeout: The longest that an attempt takes by now.
    ///   - pause: Waits; throws when cancelled.
    init(
        concurrency: Int, timeout: @escaping @Sendable () -> Duration, now: @escaping @Sendable () -> Instant,
        pause: @escaping @Sendable (Duration) async throws -> Void, attempt: @escaping Attempt
    ) {
        (self.concurrency, self.timeout) = (concurrency, timeout)
        (self.now, self.pause, self.attempt) = (now, pause, attempt)
        allowance = Atomic(concurrency)
    }

    /// How many pushes it takes at a time.
    nonisolated var inFlightMax: Int { allowance.load(ordering: .relaxed) }

    /// One answer for each push; where the task is cancelled, or a request, those that there are.
    func deliver(_ pushes: [WebhookPush]) async -> [TransportAnswer] {
        forgetOldAnswers()
        putOff.sweep(at: now())
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
        window.open[id] = push
        putOff.remove(push)
        guard putOff.turn(before: push, at: now()) == nil else { return }
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
        for push in window.open.values.sorted(by: { $0.delivery.id.push < $1.delivery.id.push }) {
            window.answers.append(postpone(push))
        }
        noteAllowance()
    }

    /// Nobody will ask for the answers.
    private func abandon(_ window: WebhookWindow) {
        for id in window.open.keys { flights[id]?.task?.cancel() }
    }

    private func postpone(_ push: WebhookPush) -> TransportAnswer {
        let id = push.delivery.id
        flights[id]?.window = nil
        let (cause, until) = wait(of: push, now())
        if flights[id] == nil { putOff.append(push, until: until) }
        var answer = TransportAnswer(id, .deferred, reason: cause, attempts: 0, until: until)
        answer.isUnderWay = flights[id] != nil
        return answer
    }

    private func wait(of push: WebhookPush, _ now: Instant) -> (cause: String, until: Instant) {
        if let flight = busyDevices[push.lane].flatMap({ flights[$0] }) {
            return (flight.cause(of: push), now.advanced(by: wait(for: flight, now)))
        }
        if let turn = putOff.turn(before: push, at: now) {
            return (Flight.earlier, max(turn, now.advanced(by: Self.shortestWait)))
        }
        let doubled = Self.shortestWait * (1 << min(max(0, silentWindows - 1), 6))
        return ("waits for room", now.advanced(by: min(doubled, Self.longestWait)))
    }

    /// Until about when it ends, as far as that can be known: a quarter of the time that it has taken, and no longer than
    /// it may take.
    private func wait(for flight: Flight, _ now: Instant) -> Duration {
        let age = now - flight.since
        return max(Self.shortestWait, min(age / 4, Self.longestLook, timeout() - age))
    }

    private static let longestLook = Duration.seconds(10)

    // MARK: Requests

    private func start() {
        var rest: [(push: WebhookPush, window: WebhookWindow)] = []
        for next in waiting {
            if flights.count < concurrency, busyDevices[next.push.lane] == nil {
                send(next.push, next.window)
            } else {
                rest.append(next)
            }
        }
        waiting = rest
    }

    private func send(_ push: WebhookPush, _ window: WebhookWindow) {
        let attempt = attempt
        busyDevices[push.lane] = push.delivery.id
        flights[push.delivery.id] = Flight(push: push, since: now(), window: window)
        flights[push.delivery.id]?.task = Task { finish(push, await attempt(push)) }
    }

    private func finish(_ push: WebhookPush, _ answer: TransportAnswer?) {
        let id = push.delivery.id
        let window = flights.removeValue(forKey: id)?.window
        busyDevices[push.lane] = nil
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
    var open: [Delivery.ID: WebhookPush] = [:]
    /// Those of them that it waits for.
    var awaited: Set<Delivery.ID> = []
    var answers: [TransportAnswer] = []
    /// Ends the wait.
    var ended: AsyncStream<Void>.Continuation?

    /// - Parameter answer: Nil where there will be none.
    func settle(_ id: Delivery.ID, _ answer: TransportAnswer?) {
        open[id] = nil
        awaited.remove(id)
        if let answer { answers.append(answer) }
        if awaited.isEmpty { ended?.finish() }
    }
}
