import PipelineKit
import Time

/// The pushes of one transport: the pushes that wait for room, and the pushes in flight.
struct TransportQueue {
    struct Route: Sendable {
        var send: @Sendable ([Delivery]) -> Void
        var end: @Sendable () -> Void = {}
        var inFlightMax: @Sendable () -> Int = { .max }
        /// See ``ContinuousTransport/room(for:)``; nil for a transport that gets one batch after another.
        var room: (@Sendable (Delivery.App?) -> TransportRoom)?
        /// The session number, a new one each time the transport is opened; never 0.
        var session = UInt64.random(in: 1 ... .max)
    }

    private struct Flight {
        /// The index of the app's queue; nil for a push that needs no room of its own.
        var queue: Int?
        var destination: UInt64
        var sent: ContinuousClock.Instant
        /// The device whose room is still taken by an earlier, deferred attempt of the push.
        var kept: Device?
    }

    private struct Device {
        var queue: Int
        var destination: UInt64
    }

    let name: String
    let route: Route
    private var queues: [AppQueue] = []
    /// Deliveries that need no further room: status queries, and pushes that the transport still has after an answer
    /// `deferred`.
    private var bypassing: [Delivery] = []
    private var apps: [Delivery.App?] = []
    private var indices: [Delivery.App?: Int] = [:]
    /// The index of the previous push's queue. The next push most likely has the same app.
    private var lastIndex = 0
    /// For each app: when its last push came from the stage.
    private var lastPushTimes: [ContinuousClock.Instant] = []
    /// For each app: when the push service stopped answering; nil while it answers.
    private var silences: [ContinuousClock.Instant?] = []
    private var nextTurn = 0
    private var flights: [UInt64: Flight] = [:]
    /// Deferred pushes that are still in flight at the transport, each with the device whose room it takes; nil if it
    /// takes no room.
    private var late: [UInt64: Device?] = [:]
    /// Late pushes that got their last answer. A status query for one of them may bring the same answer again.
    private var answeredLate: Set<UInt64> = []
    private(set) var waitingCount = 0

    /// A batch of this many bytes gets no further push. A larger batch would take too long to answer.
    private static let batchBytesMax = 1 << 20
    private static let answeredLateMax = 65_536
    /// An app without pushes for this long has no share of the room.
    private static let appIdle = Duration.seconds(10)
    /// How long an app's pushes wait after the push service stops answering. After this time they are sent even if the
    /// push service still does not answer.
    private static let silenceMax = Duration.seconds(8)

    init(_ name: String, _ route: Route) { (self.name, self.route) = (name, route) }

    var inFlight: Int { flights.count }
    var longestQueue: Int { queues.reduce(0) { max($0, $1.count) } }

    func hasSeveralActiveApps(at now: ContinuousClock.Instant) -> Bool {
        queues.indices.count { isActive($0, at: now) } > 1
    }

    private func isActive(_ index: Int, at now: ContinuousClock.Instant) -> Bool {
        !queues[index].isEmpty || queues[index].inFlight > 0 || now - lastPushTimes[index] < Self.appIdle
    }

    mutating func append(_ push: Delivery, at now: ContinuousClock.Instant) {
        waitingCount += 1
        if bypassesQueues(push) { return bypassing.append(push) }
        let index = index(of: push)
        queues[index].append(push)
        lastPushTimes[index] = now
    }

    private func bypassesQueues(_ push: Delivery) -> Bool {
        route.room != nil && (push.isStatusQuery || !late.isEmpty && late[push.id.number] != nil)
    }

    /// The index of the push's queue. A transport that gets batches has one queue, so that pushes stay in order.
    private mutating func index(of push: Delivery) -> Int {
        let app = route.room == nil ? nil : push.app
        if lastIndex < apps.count, apps[lastIndex] == app { return lastIndex }
        lastIndex = self.index(of: app)
        return lastIndex
    }

    private mutating func index(of app: Delivery.App?) -> Int {
        if let index = indices[app] { return index }
        indices[app] = queues.count
        queues.append(AppQueue())
        apps.append(app)
        lastPushTimes.append(.now)
        silences.append(nil)
        return queues.count - 1
    }

    // MARK: Going out

    mutating func next(at now: ContinuousClock.Instant) -> [Delivery] {
        guard waitingCount > 0 else { return [] }
        var pushes: [Delivery] = []
        if let room = route.room { fill(&pushes, room, now) } else { fill(&pushes, now) }
        waitingCount -= pushes.count
        return pushes
    }

    private mutating func fill(_ pushes: inout [Delivery], _ now: ContinuousClock.Instant) {
        let room = max(1, route.inFlightMax())
        var bytes = 0
        while flights.isEmpty, pushes.count < room, bytes < Self.batchBytesMax,
            let push = queues[0].next(room: .max, at: now)
        {
            bytes += push.byteCount
            pushes.append(push)
        }
    }

    private mutating func fill(
        _ pushes: inout [Delivery], _ room: @Sendable (Delivery.App?) -> TransportRoom, _ now: ContinuousClock.Instant
    ) {
        swap(&pushes, &bypassing)
        let active = queues.indices.filter { isActive($0, at: now) }
        let all = apps.map(room)
        for (index, room) in all.enumerated() { silences[index] = room.isSilent ? silences[index] ?? now : nil }
        var rooms = RoomLeft(all, queues, active, of: max(1, route.inFlightMax()))
        var refused = 0
        while refused < queues.count {
            let index = nextTurn % queues.count
            nextTurn = (index + 1) % queues.count
            if !isSilent(index, at: now), rooms.hasRoom(index, queues[index]),
                let push = queues[index].next(
                    room: rooms.pushesMax(index), perDevice: all[index].pushesPerDevice, at: now)
            {
                rooms.use(index)
                pushes.append(push)
                refused = 0
            } else {
                refused += 1
            }
        }
    }

    private func isSilent(_ index: Int, at now: ContinuousClock.Instant) -> Bool {
        silences[index].map { now - $0 < Self.silenceMax } ?? false
    }

    mutating func begin(_ pushes: [Delivery], at now: ContinuousClock.Instant) {
        for push in pushes {
            let queue = bypassesQueues(push) ? nil : index(of: push)
            let number = push.id.number
            let kept = late.isEmpty ? nil : late.removeValue(forKey: number) ?? nil
            flights[number] = Flight(queue: queue, destination: push.destination, sent: now, kept: kept)
        }
    }

    mutating func putBack(_ pushes: [Delivery]) {
        bypassing += pushes.filter(bypassesQueues)
        let others = pushes.filter { !bypassesQueues($0) }
        for (index, some) in Dictionary(grouping: others, by: { index(of: $0) }) { queues[index].putBack(some) }
        waitingCount += pushes.count
    }

    // MARK: Answers

    enum AnswerKind {
        /// The first answer after the push was sent, or after a status query for it was sent.
        case first
        /// The last answer to a deferred push.
        case late
        /// A further answer to a deferred push that already has its last answer.
        case known
        /// An answer to a push that the transport does not have.
        case surplus
    }

    mutating func settle(_ answer: TransportAnswer, at now: ContinuousClock.Instant) -> AnswerKind {
        let number = answer.id.number
        if let flight = flights.removeValue(forKey: number) {
            settle(answer, flight, at: now)
            return .first
        }
        if let kept = late.removeValue(forKey: number) {
            release(kept)
            if answeredLate.count >= Self.answeredLateMax { answeredLate = [] }
            answeredLate.insert(number)
            return .late
        }
        return answeredLate.contains(number) ? .known : .surplus
    }

    private mutating func settle(_ answer: TransportAnswer, _ flight: Flight, at now: ContinuousClock.Instant) {
        var kept = flight.kept
        if let queue = flight.queue {
            if answer.isUnderWay, (route.room?(apps[queue]).pushesPerDevice ?? .max) < .max {
                kept = Device(queue: queue, destination: flight.destination)
            }
            queues[queue].noteAnswer(
                flight.destination, after: now - flight.sent, at: now, keepsDevice: kept != nil)
        }
        if answer.isUnderWay { late.updateValue(kept, forKey: answer.id.number) } else { release(kept) }
    }

    private mutating func release(_ kept: Device?) {
        if let kept { queues[kept.queue].release(kept.destination) }
    }

    mutating func remove(_ numbers: Set<UInt64>) -> [Delivery.ID] {
        var removed = bypassing.filter { numbers.contains($0.id.number) }.map(\.id)
        bypassing.removeAll { numbers.contains($0.id.number) }
        for index in queues.indices {
            queues[index].remove { push in
                guard numbers.contains(push.id.number) else { return false }
                removed.append(push.id)
                return true
            }
        }
        waitingCount -= removed.count
        return removed
    }
}

/// The room that is left at a transport for each of its apps.
private struct RoomLeft {
    private let rooms: [TransportRoom]
    private var inFlight: [Int]
    private var channels: [Int: Channel] = [:]
    private var left: Int

    private struct Channel {
        var inFlight = 0
        var apps = 0
        /// How many apps wait for room: see ``AppQueue/needsRoom``.
        var appsNeedingRoom = 0
    }

    init(_ rooms: [TransportRoom], _ queues: [AppQueue], _ active: [Int], of all: Int) {
        (self.rooms, inFlight) = (rooms, queues.map(\.inFlight))
        left = all - inFlight.reduce(0, +)
        for (room, queue) in zip(rooms, queues) {
            channels[room.channel, default: Channel()].inFlight += queue.inFlight
            if queue.needsRoom { channels[room.channel]?.appsNeedingRoom += 1 }
        }
        for index in active { channels[rooms[index].channel]?.apps += 1 }
    }

    func pushesMax(_ index: Int) -> Int { max(1, rooms[index].pushesMax) }

    /// An app with fast answers may use all the room that is left. Any other app has an equal share of its channel's
    /// room. This share is at most an eighth while another app of the channel needs room: see ``AppQueue/needsRoom``.
    func hasRoom(_ index: Int, _ queue: AppQueue) -> Bool {
        guard left > 0, let channel = channels[rooms[index].channel], channel.inFlight < pushesMax(index) else {
            return false
        }
        if queue.isFast { return true }
        let otherAppNeedsRoom = channel.appsNeedingRoom > (queue.needsRoom ? 1 : 0)
        return inFlight[index] < max(1, pushesMax(index) / max(1, channel.apps, otherAppNeedsRoom ? 8 : 1))
    }

    mutating func use(_ index: Int) {
        left -= 1
        inFlight[index] += 1
        channels[rooms[index].channel]?.inFlight += 1
    }
}
