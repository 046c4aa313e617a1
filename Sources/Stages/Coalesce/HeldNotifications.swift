import EventLog

/// All held notifications: found by key, served by deadline; each step takes logarithmic time.
struct HeldNotifications {
    private var slots: [HeldNotification?] = []
    private var freeSlots: [Int] = []
    private var slotsByKey: [HoldKey: Int] = [:]
    private var deadlines = DeadlineHeap()

    var deadline: Instant? { deadlines.first?.due }

    func slot(of key: HoldKey) -> Int? { slotsByKey[key] }

    /// When what is held in the slot leaves.
    func due(_ slot: Int) -> Instant { deadlines.due(slot) }

    /// All slots in which something is held, in no order.
    var heldSlots: some Collection<Int> { slotsByKey.values }

    subscript(slot: Int) -> HeldNotification {
        _read {
            guard slots[slot] != nil else { preconditionFailure("a slot is read while something is held in it") }
            yield slots[slot].unsafelyUnwrapped
        }
        _modify {
            guard slots[slot] != nil else { preconditionFailure("a slot is changed while something is held in it") }
            yield &slots[slot]!
        }
    }

    mutating func insert(_ notification: HeldNotification, due: Instant) {
        let slot = freeSlots.popLast() ?? slots.count
        if slot == slots.count { slots.append(notification) } else { slots[slot] = notification }
        slotsByKey[notification.key] = slot
        deadlines.insert(.init(due: due, order: notification.first, slot: slot))
    }

    mutating func move(_ slot: Int, to due: Instant) { deadlines.move(slot, to: due) }

    /// The next notification due by `now`: the earliest first, of those due at one time the first held.
    mutating func removeFirst(dueAt now: Instant) -> HeldNotification? {
        guard let first = deadlines.first, first.due <= now, let notification = slots[first.slot] else { return nil }
        deadlines.removeFirst()
        slots[first.slot] = nil
        freeSlots.append(first.slot)
        slotsByKey[notification.key] = nil
        return notification
    }
}
