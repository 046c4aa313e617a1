import PipelineKit
import Time

/// All pushes that wait for another attempt, for a later answer of the transport, or until their app is resumed. Also
/// all notices that have not ended.
struct PendingPushes {
    private(set) var byKey: [PendingKey: PendingPush] = [:]
    private var byCollapseKey: [[UInt8]: PendingKey] = [:]
    /// The number of waiting pushes and notices of each user, by ``Device/ownerHash``.
    private var countByOwner: [Int: Int] = [:]
    private var queue = DueQueue()

    var count: Int { byKey.count }
    var isEmpty: Bool { byKey.isEmpty }

    /// The number of waiting pushes of each device that has waiting pushes. Notices do not count. The key is
    /// ``Device/collapseKey(_:)`` for an empty collapse ID.
    var countByDevice: [[UInt8]: Int] {
        byKey.values.reduce(into: [:]) { if !$1.isNotice { $0[$1.device.collapseKey([]), default: 0] += 1 } }
    }

    /// When the next push is due.
    var due: Instant? { queue.first?.due }

    subscript(key: PendingKey) -> PendingPush? { byKey[key] }

    /// False only if no push and no notice of the device's user waits. Two users may share a hash, so the result may be
    /// true although nothing waits for the user.
    func mayHavePushes(ofOwnerOf device: Device) -> Bool {
        !countByOwner.isEmpty && countByOwner[device.ownerHash] != nil
    }

    /// The waiting push that a newer push with this collapse key replaces; nil if no such push waits.
    func superseded(by collapseKey: [UInt8]) -> PendingPush? { byCollapseKey[collapseKey].flatMap { byKey[$0] } }

    /// Whether an answer about the push is expected: because the push was handed out since it began to wait and has no
    /// answer yet, or because the transport still has the push.
    func expectsAnswer(to id: Delivery.ID) -> Bool {
        guard !byKey.isEmpty, let push = byKey[PendingKey(id)] else { return false }
        return push.awaitsAnswer || push.isStillAtTransport
    }

    /// The pushes that were handed out since they began to wait, and have no answer yet, in the order of their keys.
    var awaitingAnswerInOrder: [PendingPush] { byKey.values.filter(\.awaitsAnswer).sorted { $0.key < $1.key } }

    /// The waiting push that replaces `push` if `push` has to wait: a push with the same collapse ID. Nil unless one of
    /// the two pushes was redriven. A push that was not redriven replaces all waiting pushes with its collapse ID as
    /// soon as it comes.
    func successor(of push: PendingPush) -> PendingPush? {
        guard let key = push.collapseKey.flatMap({ byCollapseKey[$0] }), key != push.key else { return nil }
        return byKey[key]
    }

    mutating func insert(_ push: PendingPush) {
        let key = push.key
        if byKey.updateValue(push, forKey: key) == nil { countByOwner[push.device.ownerHash, default: 0] += 1 }
        if push.superseder == nil, let collapseKey = push.collapseKey { byCollapseKey[collapseKey] = key }
        if let due = push.due { queue.insert(DueQueue.Entry(due: due, key: key)) }
        queue.dropOutdated(in: byKey)
    }

    /// Records that a newer push replaces this push. If a transport still has this push, the stage still queries its
    /// status.
    mutating func noteSuperseder(_ superseder: UInt64, of push: PendingPush) {
        var push = push
        remove(push.key)
        push.superseder = superseder
        if !push.isStillAtTransport { (push.due, push.isHeld) = (nil, false) }
        insert(push)
    }

    @discardableResult
    mutating func remove(_ key: PendingKey) -> PendingPush? {
        guard let push = byKey.removeValue(forKey: key) else { return nil }
        queue.dropOutdated(in: byKey)
        if let collapseKey = push.collapseKey, byCollapseKey[collapseKey] == key { byCollapseKey[collapseKey] = nil }
        let left = (countByOwner[push.device.ownerHash] ?? 1) - 1
        countByOwner[push.device.ownerHash] = left > 0 ? left : nil
        return push
    }

    /// The next push that is due by `now`.
    func first(dueBy now: Instant) -> PendingPush? {
        guard let first = queue.first, first.due <= now else { return nil }
        return byKey[first.key]
    }

    /// Records that the push was handed out.
    mutating func noteHandedOut(_ push: PendingPush, at now: Instant) {
        var push = push
        (push.due, push.lastHandedOut, push.isHeld, push.awaitsAnswer) = (nil, now, false, true)
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

    /// The held pushes of an app, in the order of their keys.
    func held(of app: Int) -> [PendingPush] {
        byKey.values.filter { $0.isHeld && $0.device.appIndex == app }.sorted { $0.key < $1.key }
    }
}

/// A heap of the times at which pushes are due.
///
/// If the time of a push changes or the push ends, its old entry stays in the heap until it comes first, or until the
/// heap has many more entries than there are pending pushes.
struct DueQueue {
    struct Entry: Comparable {
        let due: Instant
        let key: PendingKey

        static func < (left: Entry, right: Entry) -> Bool {
            left.due == right.due ? left.key < right.key : left.due < right.due
        }
    }

    private var heap: [Entry] = []

    /// The next push that is due.
    var first: Entry? { heap.first }

    mutating func insert(_ entry: Entry) {
        var index = heap.count
        heap.append(entry)
        while index > 0, heap[index] < heap[(index - 1) / 2] {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    /// Drops outdated entries from the front. If the heap has many more entries than there are pending pushes,
    /// drops all outdated entries.
    mutating func dropOutdated(in pushes: [PendingKey: PendingPush]) {
        if heap.count > 2 * pushes.count + 64 {
            heap = pushes.compactMap { key, push in push.due.map { Entry(due: $0, key: key) } }.sorted()
        }
        while let first = heap.first, pushes[first.key]?.due != first.due { removeFirst() }
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var index = 0
        while 2 * index + 1 < heap.count {
            var least = 2 * index + 1
            if least + 1 < heap.count, heap[least + 1] < heap[least] { least += 1 }
            guard heap[least] < heap[index] else { return }
            heap.swapAt(index, least)
            index = least
        }
    }
}
