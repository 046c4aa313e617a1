import PipelineKit
import Time

/// All pushes that wait, by what is asked of them.
struct PendingPushes {
    private(set) var byKey: [PendingKey: PendingPush] = [:]
    private var byCollapseKey: [[UInt8]: PendingKey] = [:]
    /// How many wait for each user.
    private var owners: [[UInt8]: Int] = [:]
    private var queue = DueQueue()

    var count: Int { byKey.count }
    var isEmpty: Bool { byKey.isEmpty }

    /// When the first is due.
    var due: Instant? { queue.first?.due }

    subscript(key: PendingKey) -> PendingPush? { byKey[key] }

    /// Whether something waits for a device of the user.
    func hasSome(of owner: [UInt8]) -> Bool { !owners.isEmpty && owners[owner] != nil }

    /// What a newer push of that collapse key takes the place of.
    func superseded(by collapseKey: [UInt8]) -> PendingPush? { byCollapseKey[collapseKey].flatMap { byKey[$0] } }

    /// Whether the push was handed out, or is still under way at the transport that has it.
    func takesAnswer(to id: Delivery.ID) -> Bool {
        guard !byKey.isEmpty, let push = byKey[PendingKey(id)] else { return false }
        return push.isOut || push.isUnderWay
    }

    /// Those that were handed out, in the order of their pushes.
    var outInOrder: [PendingPush] { byKey.values.filter(\.isOut).sorted { $0.key < $1.key } }

    /// What was handed out of those that are wanted.
    func deliveries(where isWanted: (PendingPush) -> Bool) -> [Delivery] {
        outInOrder.filter(isWanted).map(\.delivery)
    }

    /// What waits under the push's collapse ID already. None where it came before the push, for that takes its place;
    /// so only what is redriven finds one.
    func successor(of push: PendingPush) -> PendingPush? {
        guard let key = push.collapseKey.flatMap({ byCollapseKey[$0] }), key != push.key else { return nil }
        return byKey[key]
    }

    mutating func insert(_ push: PendingPush) {
        let key = push.key
        if let former = byKey.updateValue(push, forKey: key) {
            queue.remove(former)
        } else {
            owners[push.device.owner, default: 0] += 1
        }
        if push.superseder == nil, let collapseKey = push.collapseKey { byCollapseKey[collapseKey] = key }
        queue.insert(push)
    }

    /// Another takes its place, unless it turns out to have been sent: one that a transport has is still asked for.
    mutating func noteOvertaken(_ push: PendingPush, by superseder: UInt64) {
        var push = push
        remove(push.key)
        push.superseder = superseder
        if !push.isUnderWay { (push.due, push.isHeld) = (nil, false) }
        insert(push)
    }

    @discardableResult
    mutating func remove(_ key: PendingKey) -> PendingPush? {
        guard let push = byKey.removeValue(forKey: key) else { return nil }
        queue.remove(push)
        if let collapseKey = push.collapseKey, byCollapseKey[collapseKey] == key { byCollapseKey[collapseKey] = nil }
        let left = (owners[push.device.owner] ?? 1) - 1
        owners[push.device.owner] = left > 0 ? left : nil
        return push
    }

    /// The first that is due by then.
    func first(dueBy now: Instant) -> PendingPush? {
        guard let first = queue.first, first.due <= now else { return nil }
        return byKey[first.key]
    }

    /// A transport has it now.
    mutating func noteHandedOut(_ push: PendingPush, at now: Instant) {
        var push = push
        (push.due, push.handedOut, push.isHeld, push.isOut) = (nil, now, false, true)
        insert(push)
    }

    mutating func hold(_ push: PendingPush, until end: Instant) {
        var push = push
        (push.due, push.isHeld) = (end, true)
        insert(push)
    }

    mutating func release(_ push: PendingPush, at now: Instant) {
        var push = push
        (push.due, push.isHeld) = (now, false)
        insert(push)
    }

    func firstHeld(of app: Int) -> PendingPush? {
        byKey.values.filter { $0.isHeld && $0.device.appIndex == app }.min { $0.key < $1.key }
    }

    /// Those of an app that is held, in the order of their pushes.
    func held(of app: Int) -> [PendingPush] {
        byKey.values.filter { $0.isHeld && $0.device.appIndex == app }.sorted { $0.key < $1.key }
    }
}

/// When something is to be done about which push: a heap, whose order no two places share.
struct DueQueue {
    struct Place: Comparable {
        var due: Instant
        var key: PendingKey

        static func < (left: Place, right: Place) -> Bool {
            left.due == right.due ? left.key < right.key : left.due < right.due
        }
    }

    private var heap: [Place] = []
    /// Places whose push has moved on, until they come to the top.
    private var gone: [PendingKey: [Instant]] = [:]

    var first: Place? { heap.first }

    mutating func insert(_ push: PendingPush) {
        guard let due = push.due else { return }
        let key = push.key
        if let place = gone[key]?.firstIndex(of: due) { return keep(key, place) }
        heap.append(Place(due: due, key: key))
        rise(heap.count - 1)
    }

    mutating func remove(_ push: PendingPush) {
        guard let due = push.due else { return }
        gone[push.key, default: []].append(due)
        dropGone()
    }

    /// What was to go may stay.
    private mutating func keep(_ key: PendingKey, _ place: Int) {
        gone[key]?.remove(at: place)
        if gone[key]?.isEmpty == true { gone[key] = nil }
    }

    private mutating func dropGone() {
        while let first = heap.first, let place = gone[first.key]?.firstIndex(of: first.due) {
            keep(first.key, place)
            heap.swapAt(0, heap.count - 1)
            heap.removeLast()
            if !heap.isEmpty { sink(0) }
        }
    }

    private mutating func rise(_ index: Int) {
        var index = index
        while index > 0, heap[index] < heap[(index - 1) / 2] {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func sink(_ index: Int) {
        var index = index
        while true {
            var least = 2 * index + 1
            guard least < heap.count else { return }
            if least + 1 < heap.count, heap[least + 1] < heap[least] { least += 1 }
            guard heap[least] < heap[index] else { return }
            heap.swapAt(index, least)
            index = least
        }
    }
}
