import PipelineKit

/// The pushes of one app that wait for room at one transport, in order. A transport that is not a
/// ``ContinuousTransport`` has one queue for all apps.
///
/// One device may use only a part of the room. Its further pushes are parked, in order, and pushes for other devices
/// overtake them.
struct AppQueue {
    private var waiting = PushBuffer()
    private var parked: [UInt64: PushBuffer] = [:]
    /// The devices with parked pushes, each once. A device whose last parked push was taken is removed later.
    private(set) var parkedDevices: [UInt64] = []
    /// The elements of ``parkedDevices``.
    private var listedDevices: Set<UInt64> = []
    /// The devices that had parked pushes when one of their pushes in flight ended.
    private var ready: [UInt64] = []
    private var loads: [UInt64: Load] = [:]
    private(set) var count = 0
    private(set) var inFlight = 0
    /// A moving average of the times between sending a push and its answer; nil before the first answer.
    private var answerTime: Duration?

    /// The pushes in flight to one device.
    private struct Load {
        var count = 0
        /// When the last answer for the device came. Before the first answer: when the first of these pushes was sent.
        var progress: ContinuousClock.Instant
    }

    private static let slow = Duration.milliseconds(250)

    var isFast: Bool { answerTime.map { $0 < Self.slow } ?? false }
    /// Whether pushes wait for room, and answers are fast or still unknown.
    var needsRoom: Bool { (!waiting.isEmpty || !ready.isEmpty) && (answerTime == nil || isFast) }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ push: Delivery) {
        waiting.append(push)
        count += 1
    }

    /// Puts back pushes that were not sent, before the other waiting pushes of their devices.
    mutating func putBack(_ pushes: [Delivery]) {
        for push in pushes.reversed() {
            inFlight -= 1
            release(push.destination)
            if parked[push.destination]?.prepend(push) == nil { waiting.prepend(push) }
            count += 1
        }
    }

    /// Takes the next push that may be sent. Nil if no push waits, or if the devices of all waiting pushes have enough
    /// pushes in flight. The caller checks that fewer than `room` pushes are in flight. One device gets a share of
    /// `room`, and at most `perDevice` pushes.
    mutating func next(room: Int, perDevice: Int = .max, at now: ContinuousClock.Instant) -> Delivery? {
        guard count > 0 else { return nil }
        let share = max(1, min(room / 16, perDevice))
        return nextReady(share, now) ?? nextWaiting(share, now)
            ?? nextBeyondShare(max(1, min(room - max(1, room / 4), perDevice)), now)
    }

    private mutating func nextReady(_ share: Int, _ now: ContinuousClock.Instant) -> Delivery? {
        while let device = ready.first {
            if (loads[device]?.count ?? 0) < share, let push = popParked(device) { return begin(push, now) }
            ready.removeFirst()
        }
        return nil
    }

    private mutating func nextWaiting(_ share: Int, _ now: ContinuousClock.Instant) -> Delivery? {
        while let push = waiting.popFirst() {
            let device = push.destination
            guard device != 0, parked[device] != nil || (loads[device]?.count ?? 0) >= share else {
                return begin(push, now)
            }
            if listedDevices.insert(device).inserted { parkedDevices.append(device) }
            parked[device, default: PushBuffer()].append(push)
        }
        return nil
    }

    /// If no device below its share has a waiting push, a device that answers quickly may use more of the room.
    private mutating func nextBeyondShare(_ most: Int, _ now: ContinuousClock.Instant) -> Delivery? {
        parkedDevices.removeAll { device in
            guard parked[device] == nil else { return false }
            listedDevices.remove(device)
            return true
        }
        for device in parkedDevices {
            guard let load = loads[device], load.count < most, now - load.progress < Self.slow else { continue }
            if let push = popParked(device) { return begin(push, now) }
        }
        return nil
    }

    private mutating func popParked(_ device: UInt64) -> Delivery? {
        guard let push = parked[device]?.popFirst() else { return nil }
        if parked[device]?.isEmpty == true { parked[device] = nil }
        return push
    }

    private mutating func begin(_ push: Delivery, _ now: ContinuousClock.Instant) -> Delivery {
        count -= 1
        inFlight += 1
        if push.destination != 0 { loads[push.destination, default: Load(progress: now)].count += 1 }
        return push
    }

    /// Frees the room of an answered push. If `keepsDevice` is true, the push still counts for its device until
    /// ``release(_:)``.
    mutating func noteAnswer(
        _ device: UInt64, after time: Duration, at now: ContinuousClock.Instant, keepsDevice: Bool
    ) {
        answerTime = answerTime.map { $0 + (time - $0) / 16 } ?? time
        loads[device]?.progress = now
        inFlight -= 1
        if !keepsDevice { release(device) }
    }

    mutating func release(_ device: UInt64) {
        guard device != 0, let load = loads[device] else { return }
        if load.count > 1 { loads[device]?.count -= 1 } else { loads[device] = nil }
        if parked[device] != nil { ready.append(device) }
    }

    mutating func remove(where isUnwanted: (Delivery) -> Bool) {
        waiting.removeAll(where: isUnwanted)
        for device in parked.keys { parked[device]?.removeAll(where: isUnwanted) }
        parked = parked.filter { !$0.value.isEmpty }
        count = waiting.count + parked.values.reduce(0) { $0 + $1.count }
    }
}

private struct PushBuffer {
    private var pushes: [Delivery?] = []
    private var start = 0

    var count: Int { pushes.count - start }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ push: Delivery) { pushes.append(push) }

    mutating func prepend(_ push: Delivery) {
        if start == 0 {
            pushes.insert(push, at: 0)
        } else {
            start -= 1
            pushes[start] = push
        }
    }

    mutating func popFirst() -> Delivery? {
        guard start < pushes.count else { return nil }
        defer { moveStart() }
        return pushes[start].take()
    }

    /// Also frees the memory of removed pushes now and then.
    private mutating func moveStart() {
        start += 1
        if start == pushes.count {
            (pushes, start) = ([], 0)
        } else if start >= 1_024, start * 2 >= pushes.count {
            pushes.removeFirst(start)
            start = 0
        }
    }

    mutating func removeAll(where isUnwanted: (Delivery) -> Bool) {
        pushes = pushes[start...].filter { push in push.map { !isUnwanted($0) } ?? false }
        start = 0
    }
}
