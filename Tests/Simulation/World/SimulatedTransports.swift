import Foundation
import PipelineKit
import Synchronization
import TestSupport
import Time

@testable import PipelineRuntime

/// Receives pushes and answers them later, in any order. Remembers all sent pushes across restarts.
final class SimulatedTransports: Sendable {
    /// Pushes that are answered together.
    fileprivate struct AnswerGroup {
        var instance: Instance
        var due: Duration
        var pushes: [(delivery: Delivery, receipt: String)]
        /// Whether the first answer said that these pushes are still in flight. Their final answer comes at ``due``.
        var isInFlight = false
        /// Whether the group is a status query, or a push that the transport already has. Neither takes room.
        var transportHasPush = false
        var takesRoom: Bool { !isInFlight && !transportHasPush }
    }

    /// A transport in one process, from its start to its end.
    fileprivate struct Instance: Hashable {
        var process: ObjectIdentifier
        var transport: String
    }

    fileprivate struct State {
        /// Each transport has its own random numbers, because the order of the transports may vary.
        var randoms: [String: Seeded]
        var groups: [AnswerGroup] = []
        var sent: [Delivery.ID: String] = [:]
        var lastAnswers: [Delivery.ID: TransportAnswer] = [:]
        /// Pushes whose first answer said that they are still in flight, with their transport.
        var inFlight: [Delivery.ID: Instance] = [:]
        /// Pushes that got their final answer without a query, with their transport.
        var answeredWithoutQuery: [Delivery.ID: Instance] = [:]
        var tally = RepeatTally()
        /// How many pushes, notices and status queries the transports got.
        var deliveryCount = 0
        /// A number for each running transport, in the order of their first deliveries.
        var instances: [Instance: Int] = [:]
        var instancesSeen = 0
        /// For each push and notice, the number in ``instances`` of the transport that got its last delivery.
        var senders: [Delivery.ID: Int] = [:]
        /// For each transport's number, how many of its pushes were sent again without a recorded outcome.
        var repeats: [Int: Int] = [:]
        /// False after a power failure, because a log may then lack more answers than those of the pushes in flight.
        var isLogComplete = true
        var problems: [String] = []
        var isFaulty = true
    }

    private let time: SimulatedTime
    private let faults: FaultCounts
    private let state: Mutex<State>
    /// How many unanswered pushes one transport may have.
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

    /// The last answer to each push and to each notice.
    var lastAnswers: [Delivery.ID: TransportAnswer] { state.withLock { $0.lastAnswers } }
    /// The `apns-id` of every push, and the ID of every notice, that was sent.
    var sent: [Delivery.ID: String] { state.withLock { $0.sent } }
    var problems: [String] { state.withLock { $0.problems } }

    /// Tells which outcomes must say that their push may repeat.
    var tally: RepeatTally {
        var tally = state.withLock { $0.tally }
        // After a failed write or sync, the in-flight journal may contain a push that was never sent.
        tally.isExact = tally.isExact && [.diskFull, .writeFailed, .syncFailed].allSatisfy { faults[$0] == 0 }
        return tally
    }

    func notePowerFailure() {
        state.withLock { state in
            state.isLogComplete = false
            state.tally.isExact = false
        }
    }

    /// After a death inside a call, the in-flight journal may contain pushes that were never sent.
    func noteDeathInACall() { state.withLock { $0.tally.isExact = false } }

    func stopFaults() { state.withLock { $0.isFaulty = false } }

    func routes(of process: SimulatedProcess) -> [String: TransportQueue.Route] {
        let process = ObjectIdentifier(process)
        func route(_ name: String) -> TransportQueue.Route {
            var route = TransportQueue.Route(
                send: { self.send($0, Instance(process: process, transport: name)) }, inFlightMax: { self.inFlightMax })
            if name != Self.backend { route.room = { _ in TransportRoom(channel: 0, pushesMax: self.inFlightMax) } }
            return route
        }
        return Dictionary(uniqueKeysWithValues: Self.names.map { ($0, route($0)) })
    }

    private func send(_ deliveries: [Delivery], _ instance: Instance) {
        state.withLock { state in
            let unanswered = state.groups.filter { $0.instance == instance && $0.takesRoom }.reduce(0) {
                $0 + $1.pushes.count
            }
            if unanswered > 0, instance.transport == Self.backend {
                state.problems.append("\(instance.transport) got a second batch before it answered the first")
            }
            let transportHasPush = deliveries.map {
                instance.transport != Self.backend && ($0.isStatusQuery || state.has($0.id, instance))
            }
            let pushes = deliveries.map { ($0, note($0, instance, &state)) }
            let new = transportHasPush.count { !$0 }
            if new > 0, unanswered + new > inFlightMax {
                state.problems.append(
                    "\(instance.transport) has \(unanswered + new) pushes at once, more than \(inFlightMax)")
            }
            guard instance.transport != Self.backend else {
                return state.groups.append(
                    AnswerGroup(instance: instance, due: due(instance.transport, &state), pushes: pushes))
            }
            for (push, transportHasPush) in zip(pushes, transportHasPush) {
                state.groups.append(
                    AnswerGroup(
                        instance: instance, due: due(instance.transport, &state), pushes: [push],
                        transportHasPush: transportHasPush))
            }
        }
    }

    private func due(_ transport: String, _ state: inout State) -> Duration {
        let isLate = state.isFaulty && state.isOneIn(10, transport)
        if isLate { faults.note(.answersLate) }
        return time.elapsed + .milliseconds(isLate ? 200 + state.below(2_000, transport) : state.below(20, transport))
    }

    /// - Returns: The receipt for the push's answers.
    private func note(_ delivery: Delivery, _ instance: Instance, _ state: inout State) -> String {
        state.deliveryCount += 1
        let receipt = "receipt \(state.deliveryCount)"
        let inFlight = state.inFlight.removeValue(forKey: delivery.id)
        let answeredWithoutQuery = state.answeredWithoutQuery[delivery.id]
        // A push that its transport gets again counts as sent again, because it may have arrived although its answer
        // was not recorded. A status query sends nothing. A transport that has given its final answer to the push
        // sends nothing either.
        if answeredWithoutQuery != instance, !delivery.isStatusQuery {
            state.tally.noteSending(of: delivery.id, receipt)
        }
        if let inFlight, inFlight != instance { faults.note(.lateRepeated) }
        if let former = inFlight ?? answeredWithoutQuery, former != instance { state.tally.noteRepeat(of: delivery.id) }
        let line = String(decoding: delivery.line, as: UTF8.self)
        let id = delivery.id.retired == nil ? line.apnsID : line.id(after: "{\"id\":\"")
        if let earlier = state.sent[delivery.id] {
            faults.note(.pushRepeated)
            if earlier != id { state.problems.append("\(delivery.id) was sent as \(earlier) and then as \(id)") }
            // The check allows a crash to repeat as many pushes as can take room at one time. A push whose final answer
            // came without a query has taken no room since its first answer. So if a crash loses its final answer, its
            // repeat is not counted.
            if answeredWithoutQuery == nil { checkRepeat(of: delivery.id, instance, &state) }
        }
        state.sent[delivery.id] = id
        state.senders[delivery.id] = state.number(of: instance)
        return receipt
    }

    /// Counts a push that is sent again without a recorded outcome. Checks that a crash repeats at most as many pushes
    /// of a transport as the transport can have in flight. Pushes that were deferred, or whose app was stopped, do not
    /// count, because they are sent again even without a crash.
    private func checkRepeat(of id: Delivery.ID, _ instance: Instance, _ state: inout State) {
        guard state.isLogComplete, instance.transport != Self.backend,
            ![.deferred, .stopped].contains(state.lastAnswers[id]?.outcome)
        else { return }
        guard let sender = state.senders[id] else { return }
        state.repeats[sender, default: 0] += 1
        guard state.repeats[sender] == inFlightMax + 1 else { return }
        state.problems.append(
            "more than \(inFlightMax) pushes of one transport were sent again after a crash, the last by "
                + instance.transport)
    }

    /// Gives a process's dispatcher the answers that are due.
    func giveAnswers(of process: SimulatedProcess, to dispatcher: TransportDispatcher) {
        let answers = state.withLock { state in
            var answers: [(transport: String, answers: [TransportAnswer])] = []
            while let index = state.groups.firstIndex(where: {
                $0.instance.process == ObjectIdentifier(process) && $0.due <= time.elapsed
            }) {
                let group = state.groups.remove(at: index)
                answers.append((group.instance.transport, answer(group, &state)))
            }
            return answers
        }
        for group in answers { dispatcher.collect(group.answers, from: group.transport) }
    }

    private static func answer(
        to delivery: Delivery, on transport: String, at wall: Instant, _ faults: FaultCounts, _ state: inout State
    ) -> TransportAnswer {
        let (id, attempts) = (delivery.id, 1 + state.below(3, transport))
        if state.isOneIn(5, transport) {
            return TransportAnswer(id, .failed, status: 413, reason: "PayloadTooLarge", attempts: attempts)
        }
        guard state.isFaulty, state.isOneIn(4, transport) else {
            return TransportAnswer(id, .accepted, status: 200, attempts: attempts)
        }
        if transport == backend {
            faults.note(.noticeFailed)
            return TransportAnswer(id, .failed, status: 503, reason: "busy", attempts: attempts)
        }
        switch state.below(20, transport) {
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
                until: wall.advanced(by: .milliseconds(state.below(4_000, transport))))
            answer.isUnderWay = true
            return answer
        default:
            faults.note(.pushDeferred)
            return TransportAnswer(
                id, .deferred, reason: "connection reset", attempts: attempts,
                until: wall.advanced(by: .milliseconds(state.below(4_000, transport))),
                mayRepeat: state.isOneIn(2, transport))
        }
    }

    private func answer(_ group: AnswerGroup, _ state: inout State) -> [TransportAnswer] {
        let instance = group.instance
        guard !group.isInFlight else { return finalAnswers(group, &state) }
        var answers = group.pushes.map { push in
            if state.answeredWithoutQuery[push.delivery.id] == instance, let known = state.lastAnswers[push.delivery.id]
            {
                return known
            }
            var answer = Self.answer(to: push.delivery, on: instance.transport, at: time.wall, faults, &state)
            answer.receipt = push.receipt
            return answer
        }
        for (answer, push) in zip(answers, group.pushes) {
            state.lastAnswers[answer.id] = answer
            if answer.mayRepeat { state.tally.noteDoubt(of: answer.id) }
            guard answer.isUnderWay else { continue }
            state.inFlight[answer.id] = instance
            state.groups.append(
                AnswerGroup(instance: instance, due: due(instance.transport, &state), pushes: [push], isInFlight: true))
        }
        if answers.count > 1, state.isFaulty {
            faults.note(.answersShuffled)
            for index in answers.indices { answers.swapAt(index, state.below(answers.count, instance.transport)) }
        }
        return answers
    }

    /// The final answers to pushes that are still in flight.
    private func finalAnswers(_ group: AnswerGroup, _ state: inout State) -> [TransportAnswer] {
        group.pushes.filter { state.inFlight[$0.delivery.id] == group.instance }.map { delivery, receipt in
            state.inFlight[delivery.id] = nil
            state.answeredWithoutQuery[delivery.id] = group.instance
            let answer = TransportAnswer(delivery.id, .accepted, status: 200, receipt: receipt)
            state.lastAnswers[delivery.id] = answer
            faults.note(.lateAnswered)
            return answer
        }
    }

    /// Drops the unanswered pushes of a process that has ended.
    func forget(_ process: SimulatedProcess) {
        state.withLock { state in
            let lost = state.groups.filter { $0.instance.process == ObjectIdentifier(process) }
            faults.note(.answersLost, lost.count)
            for transport in Self.names {
                state.instances[Instance(process: ObjectIdentifier(process), transport: transport)] = nil
            }
            state.groups.removeAll { $0.instance.process == ObjectIdentifier(process) }
        }
    }
}

extension SimulatedTransports.State {
    fileprivate mutating func number(of instance: SimulatedTransports.Instance) -> Int {
        if let number = instances[instance] { return number }
        instancesSeen += 1
        instances[instance] = instancesSeen
        return instancesSeen
    }

    /// Whether a transport has the push in flight, or has given its final answer without a query.
    fileprivate func has(_ id: Delivery.ID, _ instance: SimulatedTransports.Instance) -> Bool {
        inFlight[id] == instance || answeredWithoutQuery[id] == instance
    }

    fileprivate mutating func below(_ limit: Int, _ transport: String) -> Int { randoms[transport]?.below(limit) ?? 0 }
    fileprivate mutating func isOneIn(_ count: Int, _ transport: String) -> Bool { below(count, transport) == 0 }
}

extension String {
    /// The value of `"apns-id"` in the line of a push or an outcome.
    var apnsID: String { id(after: "\"apns-id\":\"") }

    fileprivate func id(after key: String) -> String {
        guard let key = range(of: key) else { return "" }
        return String(self[key.upperBound...].prefix { $0 != "\"" })
    }
}
