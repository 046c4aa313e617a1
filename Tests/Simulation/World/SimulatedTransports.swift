import Foundation
import PipelineKit
import Synchronization
import TestSupport
import Time

@testable import PipelineRuntime

/// Receives pushes and answers them later, in any order. Remembers all sent pushes across restarts.
final class SimulatedTransports: Sendable {
    /// Pushes that are answered together.
    fileprivate struct Window {
        var life: Life
        var due: Duration
        var pushes: [(delivery: Delivery, receipt: String)]
        /// Whether the first answer to these pushes was "under way", and the final answer comes at ``due``.
        var isLate = false
        /// Whether this is a status query, or a push that the transport already has. It takes no room.
        var isJoined = false
        var takesRoom: Bool { !isLate && !isJoined }
    }

    /// A transport in one process, from its start to its end.
    fileprivate struct Life: Hashable {
        var process: ObjectIdentifier
        var lane: String
    }

    fileprivate struct State {
        /// Each transport has its own random numbers, because the order of the transports may vary.
        var randoms: [String: Seeded]
        var windows: [Window] = []
        var sent: [Delivery.ID: String] = [:]
        var given: [Delivery.ID: TransportAnswer] = [:]
        /// Pushes that are under way, with their transport.
        var late: [Delivery.ID: Life] = [:]
        /// Pushes that got their final answer without a query, with their transport.
        var unasked: [Delivery.ID: Life] = [:]
        var tally = RepeatTally()
        /// How many times pushes were sent.
        var handouts = 0
        /// The numbers of the running transports, in the order of their start.
        var lives: [Life: Int] = [:]
        var livesSeen = 0
        /// The number of the transport that sent a push last.
        var senders: [Delivery.ID: Int] = [:]
        /// For each transport, how many of its pushes without a recorded outcome other transports have sent again.
        var repeats: [Int: Int] = [:]
        /// False after a power failure, because a log may lose more than the pushes that were under way.
        var keepsRecord = true
        var problems: [String] = []
        var isFaulty = true
    }

    private let time: SimulatedTime
    private let faults: FaultCounts
    private let state: Mutex<State>
    /// The largest number of unanswered pushes at one transport.
    private let inFlightMax: Int

    init(seed: UInt64, _ time: SimulatedTime, _ faults: FaultCounts) {
        self.time = time
        self.faults = faults
        inFlightMax = [1, 2, 3, 1_000][Int(seed % 4)]
        var random = Seeded(seed)
        var randoms: [String: Seeded] = [:]
        for name in Self.names { randoms[name] = Seeded(random.next()) }
        state = Mutex(State(randoms: randoms))
    }

    static let names = ["apns", "courier", backend]
    /// The transport for notices of retired devices.
    private static let backend = "retired"

    /// The last answer to each push.
    var given: [Delivery.ID: TransportAnswer] { state.withLock { $0.given } }
    /// The `apns-id` of every push that was sent.
    var sent: [Delivery.ID: String] { state.withLock { $0.sent } }
    var problems: [String] { state.withLock { $0.problems } }

    /// The pushes whose outcomes must say that they may repeat.
    var tally: RepeatTally {
        var tally = state.withLock { $0.tally }
        // After a failed write, the first of two files may record a push as under way that was never sent.
        tally.isExact = tally.isExact && [.diskFull, .writeFailed, .syncFailed].allSatisfy { faults[$0] == 0 }
        return tally
    }

    func losePower() {
        state.withLock { state in
            state.keepsRecord = false
            state.tally.isExact = false
        }
    }

    /// After a death inside a call, pushes may be recorded as under way that were never sent.
    func noteDeathInACall() { state.withLock { $0.tally.isExact = false } }

    func calm() { state.withLock { $0.isFaulty = false } }

    func routes(of process: SimulatedProcess) -> [String: TransportQueue.Route] {
        let process = ObjectIdentifier(process)
        func route(_ name: String) -> TransportQueue.Route {
            var route = TransportQueue.Route(
                send: { self.send($0, Life(process: process, lane: name)) }, inFlightMax: { self.inFlightMax })
            if name != Self.backend { route.room = { _ in TransportRoom(channel: 0, pushesMax: self.inFlightMax) } }
            return route
        }
        return Dictionary(uniqueKeysWithValues: Self.names.map { ($0, route($0)) })
    }

    private func send(_ deliveries: [Delivery], _ life: Life) {
        state.withLock { state in
            let present = state.windows.filter { $0.life == life && $0.takesRoom }.reduce(0) { $0 + $1.pushes.count }
            if present > 0, life.lane == Self.backend { state.problems.append("\(life.lane) got two batches at once") }
            let isJoined = deliveries.map { life.lane != Self.backend && ($0.isStatusQuery || state.has($0.id, life)) }
            let pushes = deliveries.map { ($0, note($0, life, &state)) }
            let new = isJoined.count { !$0 }
            if new > 0, present + new > inFlightMax {
                state.problems.append("\(life.lane) has \(present + new) pushes, not \(inFlightMax)")
            }
            guard life.lane != Self.backend else {
                return state.windows.append(Window(life: life, due: due(life.lane, &state), pushes: pushes))
            }
            for (push, isJoined) in zip(pushes, isJoined) {
                state.windows.append(
                    Window(life: life, due: due(life.lane, &state), pushes: [push], isJoined: isJoined))
            }
        }
    }

    private func due(_ lane: String, _ state: inout State) -> Duration {
        let isLate = state.isFaulty && state.isOneIn(10, lane)
        if isLate { faults.note(.answersLate) }
        return time.elapsed + .milliseconds(isLate ? 200 + state.below(2_000, lane) : state.below(20, lane))
    }

    /// - Returns: The receipt for the push's answers.
    private func note(_ delivery: Delivery, _ life: Life, _ state: inout State) -> String {
        state.handouts += 1
        let receipt = "receipt \(state.handouts)"
        let (late, unasked) = (state.late.removeValue(forKey: delivery.id), state.unasked[delivery.id])
        // This also counts if the same transport gets the push again, because the push may have arrived before its
        // answer was recorded. A status query does not count, because it sends nothing.
        if unasked != life, !delivery.isStatusQuery { state.tally.noteSending(of: delivery.id, receipt) }
        if let late, late != life { faults.note(.lateRepeated) }
        if let former = late ?? unasked, former != life { state.tally.noteRepeat(of: delivery.id) }
        let line = String(decoding: delivery.line, as: UTF8.self)
        let id = delivery.id.retired == nil ? line.apnsID : line.id(after: "{\"id\":\"")
        if let earlier = state.sent[delivery.id] {
            faults.note(.pushRepeated)
            if earlier != id { state.problems.append("\(delivery.id) was sent as \(earlier) and then as \(id)") }
            // A push that was under way no longer takes room; its final answer may be lost with its process.
            if unasked == nil { noteRepeat(of: delivery.id, life, &state) }
        }
        state.sent[delivery.id] = id
        state.senders[delivery.id] = state.number(of: life)
        return receipt
    }

    /// Checks that crashes repeat only pushes that a transport had under way. Deferred pushes are sent again anyway.
    private func noteRepeat(of id: Delivery.ID, _ life: Life, _ state: inout State) {
        guard state.keepsRecord, life.lane != Self.backend, ![.deferred, .stopped].contains(state.given[id]?.outcome)
        else { return }
        guard let sender = state.senders[id] else { return }
        state.repeats[sender, default: 0] += 1
        guard state.repeats[sender] == inFlightMax + 1 else { return }
        state.problems.append(
            "more than \(inFlightMax) pushes that \(life.lane) had under way were sent again after a crash")
    }

    /// Gives a process the answers that are due.
    func answer(_ process: SimulatedProcess, _ dispatcher: TransportDispatcher) {
        let answers = state.withLock { state in
            var answers: [(lane: String, answers: [TransportAnswer])] = []
            while let index = state.windows.firstIndex(where: {
                $0.life.process == ObjectIdentifier(process) && $0.due <= time.elapsed
            }) {
                let window = state.windows.remove(at: index)
                answers.append((window.life.lane, answer(window, &state)))
            }
            return answers
        }
        for window in answers { dispatcher.take(window.answers, from: window.lane) }
    }

    private static func answer(
        to delivery: Delivery, on lane: String, at wall: Instant, _ faults: FaultCounts, _ state: inout State
    ) -> TransportAnswer {
        let (id, attempts) = (delivery.id, 1 + state.below(3, lane))
        if state.isOneIn(5, lane) {
            return TransportAnswer(id, .failed, status: 413, reason: "PayloadTooLarge", attempts: attempts)
        }
        guard state.isFaulty, state.isOneIn(4, lane) else {
            return TransportAnswer(id, .accepted, status: 200, attempts: attempts)
        }
        if lane == backend {
            faults.note(.backendInTrouble)
            return TransportAnswer(id, .failed, status: 503, reason: "busy", attempts: attempts)
        }
        switch state.below(20, lane) {
        case 0:
            faults.note(.appStopped)
            return TransportAnswer(id, .stopped, status: 403, reason: "InvalidProviderToken")
        case 1, 2:
            faults.note(.addressGone)
            return TransportAnswer(id, .unregistered, status: 410, reason: "Unregistered", since: wall)
        case 3:
            faults.note(.addressGone)
            return TransportAnswer(id, .unknownAddress, status: 400, reason: "BadDeviceToken")
        case 4, 5, 6, 7:
            faults.note(.pushLate)
            var answer = TransportAnswer(
                id, .deferred, reason: "in_flight", attempts: 0,
                until: wall.advanced(by: .milliseconds(state.below(4_000, lane))))
            answer.isUnderWay = true
            return answer
        default:
            faults.note(.pushDeferred)
            return TransportAnswer(
                id, .deferred, reason: "connection reset", attempts: attempts,
                until: wall.advanced(by: .milliseconds(state.below(4_000, lane))), mayRepeat: state.isOneIn(2, lane))
        }
    }

    private func answer(_ window: Window, _ state: inout State) -> [TransportAnswer] {
        let life = window.life
        guard !window.isLate else { return lastAnswers(window, &state) }
        var answers = window.pushes.map { push in
            if state.unasked[push.delivery.id] == life, let known = state.given[push.delivery.id] { return known }
            var answer = Self.answer(to: push.delivery, on: life.lane, at: time.wall, faults, &state)
            answer.receipt = push.receipt
            return answer
        }
        for (answer, push) in zip(answers, window.pushes) {
            state.given[answer.id] = answer
            if answer.mayRepeat { state.tally.noteDoubt(of: answer.id) }
            guard answer.isUnderWay else { continue }
            state.late[answer.id] = life
            state.windows.append(
                Window(life: life, due: due(life.lane, &state), pushes: [push], isLate: true))
        }
        if answers.count > 1, state.isFaulty {
            faults.note(.answersShuffled)
            for index in answers.indices { answers.swapAt(index, state.below(answers.count, life.lane)) }
        }
        return answers
    }

    /// The final answers to pushes that are still under way.
    private func lastAnswers(_ window: Window, _ state: inout State) -> [TransportAnswer] {
        window.pushes.filter { state.late[$0.delivery.id] == window.life }.map { delivery, receipt in
            state.late[delivery.id] = nil
            state.unasked[delivery.id] = window.life
            let answer = TransportAnswer(delivery.id, .accepted, status: 200, receipt: receipt)
            state.given[delivery.id] = answer
            faults.note(.lateAnswered)
            return answer
        }
    }

    /// Drops the unanswered pushes of a process that has ended.
    func forget(_ process: SimulatedProcess) {
        state.withLock { state in
            let lost = state.windows.filter { $0.life.process == ObjectIdentifier(process) }
            faults.note(.windowLost, lost.count)
            for lane in Self.names { state.lives[Life(process: ObjectIdentifier(process), lane: lane)] = nil }
            state.windows.removeAll { $0.life.process == ObjectIdentifier(process) }
        }
    }
}

extension SimulatedTransports.State {
    fileprivate mutating func number(of life: SimulatedTransports.Life) -> Int {
        if let number = lives[life] { return number }
        livesSeen += 1
        lives[life] = livesSeen
        return livesSeen
    }

    /// Whether a transport has the push under way, or has its final answer.
    fileprivate func has(_ id: Delivery.ID, _ life: SimulatedTransports.Life) -> Bool {
        late[id] == life || unasked[id] == life
    }

    fileprivate mutating func below(_ limit: Int, _ lane: String) -> Int { randoms[lane]?.below(limit) ?? 0 }
    fileprivate mutating func isOneIn(_ count: Int, _ lane: String) -> Bool { below(count, lane) == 0 }
}

extension String {
    /// The value of `"apns-id"` in the line of a push or an outcome.
    var apnsID: String { id(after: "\"apns-id\":\"") }

    fileprivate func id(after key: String) -> String {
        guard let key = range(of: key) else { return "" }
        return String(self[key.upperBound...].prefix { $0 != "\"" })
    }
}
