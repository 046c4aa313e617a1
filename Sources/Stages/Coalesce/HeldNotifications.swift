import Time

/// All held notifications, found by key and served by deadline, and when the last one of a key left. Each step takes
/// logarithmic time at most.
struct HeldNotifications {
    /// What is known of a key: something is held, or has left not long ago, or both.
    private struct Slot {
        let key: HoldKey
        var held: HeldNotification?
        var lastLeft: Instant?
    }

    private var slots: [Slot?] = []
    private var freeSlots: [Int] = []
    private var slotsByKey: [HoldKey: Int] = [:]
    private var deadlines = DeadlineHeap()
    private var pending = PendingByUser()
    /// The slots with a time at which something left, the earliest first.
    private var left = SlotChain()
    private var leftLinks = SlotLinks()

    var deadline: Instant? { deadlines.first?.due }

    /// Whether nothing is known of any key.
    var isEmpty: Bool { slotsByKey.isEmpty }

    func slot(of key: HoldKey) -> Int? { slotsByKey[key] }

    func isHeld(_ slot: Int) -> Bool { slots[slot]?.held != nil }

    func key(_ slot: Int) -> HoldKey? { slots[slot]?.key }

    /// When what is held in the slot leaves.
    func due(_ slot: Int) -> Instant { deadlines.due(slot) }

    func lastLeft(_ slot: Int) -> Instant? { slots[slot]?.lastLeft }

    /// All slots in which something is held, in no order.
    var heldSlots: [Int] { slots.indices.filter { isHeld($0) } }

    subscript(slot: Int) -> HeldNotification {
        _read {
            guard isHeld(slot) else { preconditionFailure("a slot is read while something is held in it") }
            yield slots[slot].unsafelyUnwrapped.held.unsafelyUnwrapped
        }
        _modify {
            guard isHeld(slot) else { preconditionFailure("a slot is changed while something is held in it") }
            yield &slots[slot]!.held!
        }
    }

    // MARK: Holding

    mutating func insert(_ notification: HeldNotification, as key: HoldKey, due: Instant) {
        let slot = slot(for: key)
        deadlines.insert(.init(due: due, order: notification.first, slot: slot))
        if notification.atLimit == nil { pending.append(slot, of: key.user) }
        slots[slot]?.held = notification
    }

    mutating func move(_ slot: Int, to due: Instant) { deadlines.move(slot, to: due) }

    /// The next notification due by `now`: the earliest first, of those due at one time the first held.
    ///
    /// - Parameter isRemembered: Whether it is noted that it left.
    mutating func removeFirst(dueAt now: Instant, isRemembered: Bool) -> HeldNotification? {
        guard let first = deadlines.first, first.due <= now, let key = slots[first.slot]?.key,
            let notification = slots[first.slot]?.held
        else { return nil }
        deadlines.removeFirst()
        if notification.atLimit == nil { pending.remove(first.slot, of: key.user) }
        slots[first.slot]?.held = nil
        if isRemembered { note(first.slot, key, leftAt: now) } else { freeIfUnknown(first.slot) }
        return notification
    }

    // MARK: The limit of a user

    func pendingCount(of user: UserKey) -> Int { pending.count(of: user) }

    /// Makes those that a user has waited for longest due, until no more than `count` are pending.
    mutating func flushOldest(of user: UserKey, leaving count: Int, at now: Instant, because reason: AtLimit) {
        while pending.count(of: user) > count, let slot = pending.first(of: user) {
            pending.remove(slot, of: user)
            slots[slot]?.held?.atLimit = reason
            deadlines.move(slot, to: now)
        }
    }

    // MARK: What has left

    /// - Parameter slot: The key's; nil where nothing is known of it yet.
    mutating func note(_ slot: Int?, _ key: HoldKey, leftAt now: Instant) {
        let slot = slot ?? self.slot(for: key)
        if slots[slot]?.lastLeft != nil { leftLinks.remove(slot, from: &left) }
        leftLinks.append(slot, to: &left)
        slots[slot]?.lastLeft = now
    }

    /// Forgets what left so long ago, or longer.
    mutating func forget(after memory: Duration, at now: Instant) {
        while let slot = left.first, let moment = slots[slot]?.lastLeft, moment.advanced(by: memory) <= now {
            leftLinks.remove(slot, from: &left)
            slots[slot]?.lastLeft = nil
            freeIfUnknown(slot)
        }
    }

    /// The slots with a time at which something left, the earliest first.
    var leftSlots: [Int] { leftLinks.slots(of: left) }

    // MARK: Slots

    private mutating func slot(for key: HoldKey) -> Int {
        if let slot = slotsByKey[key] { return slot }
        let slot = freeSlots.popLast() ?? slots.count
        if slot == slots.count { slots.append(Slot(key: key)) } else { slots[slot] = Slot(key: key) }
        slotsByKey[key] = slot
        return slot
    }

    private mutating func freeIfUnknown(_ slot: Int) {
        guard let known = slots[slot], known.held == nil, known.lastLeft == nil else { return }
        slotsByKey[known.key] = nil
        slots[slot] = nil
        freeSlots.append(slot)
    }
}
