import PipelineKit
import Synchronization
import Time

/// The waiting pushes of a webhook, and its requests in flight: at most ``concurrency``, and at most one to each
/// device.
///
/// A push that has no answer after ``answerWait`` is deferred. If its request has begun, the request stays in flight.
final class WebhookQueue: Sendable {
    /// Sends one request. Returns nil if it was cancelled.
    typealias Attempt = @Sendable (WebhookPush) async -> TransportAnswer?
    typealias Report = @Sendable ([TransportAnswer]) -> Void

    /// How long a push waits for its answer before it is deferred.
    static let answerWait = Duration.seconds(2)
    /// How long a late answer is kept if the stage does not pass its push again.
    private static let lateAnswerAge = Duration.seconds(300)

    private let concurrency: Int
    private let timeout: @Sendable () -> Duration
    private let attempt: Attempt
    private let now: @Sendable () -> Instant
    private let pause: @Sendable (Duration) async throws -> Void
    private let state = Mutex(State())

    private struct State {
        /// The pushes whose requests have not begun, in their order.
        var waiting: [WaitingPush] = []
        var flights: [Delivery.ID: Flight] = [:]
        /// The push in flight to each device, by ``WebhookPush/deviceKey``.
        var busyDevices: [[String]: Delivery.ID] = [:]
        /// Answers that came after their pushes were deferred.
        var lateAnswers: [Delivery.ID: (answer: TransportAnswer, since: Instant)] = [:]
        /// The number of calls of ``add(_:reportingTo:)``.
        var calls = 0
        /// How often the server has answered.
        var answerCount = 0
        /// Whether the server answered no request for ``answerWait`` while pushes waited for their answers. The next
        /// answer makes this false.
        var isSilent = false
        var isClosed = false
    }

    private struct WaitingPush {
        let push: WebhookPush
        let call: Int
        let report: Report
    }

    private struct Flight {
        let push: WebhookPush
        let begunAt: Instant
        /// The call that waits for the answer; nil once the push was deferred.
        var call: Int?
        var report: Report
    }

    /// - Parameters:
    ///   - timeout: The timeout of an attempt in the current settings.
    ///   - pause: Waits for the duration; throws if cancelled.
    init(
        concurrency: Int, timeout: @escaping @Sendable () -> Duration, now: @escaping @Sendable () -> Instant,
        pause: @escaping @Sendable (Duration) async throws -> Void, attempt: @escaping Attempt
    ) {
        (self.concurrency, self.timeout) = (concurrency, timeout)
        (self.now, self.pause, self.attempt) = (now, pause, attempt)
    }

    /// The room for requests: ``concurrency`` less the requests in flight whose pushes were deferred, but at least 1.
    var room: TransportRoom {
        state.withLock { state in
            let late = state.flights.values.count { $0.call == nil }
            return TransportRoom(
                channel: 0, pushesMax: max(1, concurrency - late), pushesPerDevice: 1, isSilent: state.isSilent)
        }
    }

    /// Adds pushes, and sends as many as there is room for.
    ///
    /// - Parameter report: Gets an answer for each push: the result of its request, or a deferral if there is no result
    ///   after ``answerWait``. While the server is silent, pushes are deferred at once. If the request of a deferred
    ///   push is in flight, its result is reported later.
    func add(_ pushes: [WebhookPush], reportingTo report: @escaping Report) {
        let now = now()
        let (known, begun, call, answerCount, isSilent) = state.withLock { state in
            forgetOldAnswers(&state, now)
            state.calls += 1
            let known = pushes.compactMap { enqueue($0, report, &state) }
            return (known, start(&state, now), state.calls, state.answerCount, state.isSilent)
        }
        if !known.isEmpty { report(known) }
        for push in begun { send(push) }
        if isSilent { return deferUnanswered(of: call, answersBefore: answerCount, report) }
        Task {
            do { try await pause(Self.answerWait) } catch { return }
            deferUnanswered(of: call, answersBefore: answerCount, report)
        }
    }

    /// Queues a push, unless it has a late answer or is still in flight. If it is in flight, the result of its request
    /// goes to `report`.
    ///
    /// - Returns: The late answer to an earlier attempt, if there is one.
    private func enqueue(_ push: WebhookPush, _ report: @escaping Report, _ state: inout State) -> TransportAnswer? {
        let id = push.delivery.id
        if let late = state.lateAnswers.removeValue(forKey: id) { return late.answer }
        guard var flight = state.flights[id] else {
            state.waiting.append(WaitingPush(push: push, call: state.calls, report: report))
            return nil
        }
        (flight.call, flight.report) = (state.calls, report)
        state.flights[id] = flight
        return nil
    }

    private func forgetOldAnswers(_ state: inout State, _ now: Instant) {
        guard !state.lateAnswers.isEmpty else { return }
        state.lateAnswers = state.lateAnswers.filter { now - $0.value.since < Self.lateAnswerAge }
    }

    // MARK: Requests

    /// Removes the waiting pushes whose requests may begin, and notes them as in flight.
    private func start(_ state: inout State, _ now: Instant) -> [WebhookPush] {
        guard !state.isClosed else { return [] }
        var (begun, rest) = ([WebhookPush](), [WaitingPush]())
        for next in state.waiting {
            guard state.flights.count < concurrency, state.busyDevices[next.push.deviceKey] == nil else {
                rest.append(next)
                continue
            }
            state.busyDevices[next.push.deviceKey] = next.push.delivery.id
            state.flights[next.push.delivery.id] = Flight(
                push: next.push, begunAt: now, call: next.call, report: next.report)
            begun.append(next.push)
        }
        state.waiting = rest
        return begun
    }

    private func send(_ push: WebhookPush) {
        Task { finish(push, await attempt(push)) }
    }

    private func finish(_ push: WebhookPush, _ answer: TransportAnswer?) {
        let now = now()
        let (report, begun) = state.withLock { state in
            let flight = state.flights.removeValue(forKey: push.delivery.id)
            state.busyDevices[push.deviceKey] = nil
            if answer?.status != nil { (state.answerCount, state.isSilent) = (state.answerCount + 1, false) }
            if let answer, flight?.call == nil { state.lateAnswers[push.delivery.id] = (answer, now) }
            return (flight?.report, start(&state, now))
        }
        report?([answer ?? Self.closed(push, attempts: 1, now)])
        for push in begun { send(push) }
    }

    /// Defers the waiting pushes, and begins no more requests. Call this before the session is closed. Otherwise, when
    /// the closed session ends the requests in flight, the requests of waiting pushes would begin.
    func close() {
        let now = now()
        let waiting = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for next in waiting { next.report([Self.closed(next.push, attempts: 0, now)]) }
    }

    private static func closed(_ push: WebhookPush, attempts: Int, _ now: Instant) -> TransportAnswer {
        TransportAnswer(
            push.delivery.id, .deferred, reason: "the transport was closed", attempts: attempts, until: now,
            mayRepeat: attempts > 0)
    }

    // MARK: Deferrals

    /// Defers the pushes of a call that have no answer yet.
    private func deferUnanswered(of call: Int, answersBefore: Int, _ report: Report) {
        let now = now()
        let answers = state.withLock { state in
            let flights = state.flights.values.filter { $0.call == call }
            let waiting = state.waiting.filter { $0.call == call }
            guard !flights.isEmpty || !waiting.isEmpty else { return [TransportAnswer]() }
            if state.answerCount == answersBefore { state.isSilent = true }
            for flight in flights { state.flights[flight.push.delivery.id]?.call = nil }
            state.waiting.removeAll { $0.call == call }
            return (flights.map(\.push) + waiting.map(\.push)).map { deferral(of: $0, state, now) }
        }
        if !answers.isEmpty { report(answers) }
    }

    private func deferral(of push: WebhookPush, _ state: State, _ now: Instant) -> TransportAnswer {
        let id = push.delivery.id
        let flight = state.busyDevices[push.deviceKey].flatMap { state.flights[$0] }
        let until = now.advanced(by: flight.map { wait(for: $0, now) } ?? Self.shortestWait)
        let reason = flight.map { reasonToWait(for: $0, id) } ?? "waits for one of the requests in flight to end"
        var answer = TransportAnswer(id, .deferred, reason: reason, attempts: 0, until: until)
        answer.isUnderWay = state.flights[id] != nil
        return answer
    }

    /// - Parameter flight: The push in flight to the device of `waitingID`.
    private func reasonToWait(for flight: Flight, _ waitingID: Delivery.ID) -> String {
        let id = flight.push.delivery.id
        if id == waitingID { return "in_flight" }
        return id.push < waitingID.push ? "waits for an earlier push" : "waits for a later push"
    }

    private static let shortestWait = Duration.seconds(1)
    private static let longestWait = Duration.seconds(10)

    /// How long the stage should wait before it passes the push again: a quarter of the request's age, but at most 10
    /// seconds and at most the rest of the timeout. The result is never below 1 second.
    private func wait(for flight: Flight, _ now: Instant) -> Duration {
        let age = now - flight.begunAt
        return max(Self.shortestWait, min(age / 4, Self.longestWait, timeout() - age))
    }
}
