import Time

/// All held notifications by key and by deadline. If a key's notification left recently, the key's slot also has the
/// time at which the notification left.
///
/// Holding, moving or removing one notification takes logarithmic time at most.
struct HeldNotifications {
    /// A key with a held notification, with a notification that left recently, or with both.
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
    /// The slots from which a notification left recently, the earliest first.
    private var left = SlotChain()
    private var leftLinks = SlotLinks()

    var deadline: Instant? { deadlines.first?.due }

    /// Whether no key has a slot.
    var isEmpty: Bool { slotsByKey.isEmpty }

    func slot(of key: HoldKey) -> Int? { slotsByKey[key] }

    func isHeld(_ slot: Int) -> Bool { slots[slot]?.held != nil }

    func key(_ slot: Int) -> HoldKey? { slots[slot]?.key }

    /// When the notification in the slot leaves.
    func due(_ slot: Int) -> Instant { deadlines.due(slot) }

    func lastLeft(_ slot: Int) -> Instant? { slots[slot]?.lastLeft }

    /// All slots with a held notification, in no particular order.
    var heldSlots: [Int] { slots.indices.filter { isHeld($0) } }

    subscript(slot: Int) -> HeldNotification {
        _read {
            guard isHeld(slot) else { preconditionFailure("slot \(slot) holds no notification") }
            yield slots[slot].unsafelyUnwrapped.held.unsafelyUnwrapped
        }
        _modify {
            guard isHeld(slot) else { preconditionFailure("slot \(slot) holds no notification") }
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

    /// Removes the next notification that is due by `now`. Of notifications with the same due time, the notification
    /// that was held first leaves first.
    ///
    /// - Parameter isRemembered: Whether to record when the notification left.
    mutating func removeFirst(dueAt now: Instant, isRemembered: Bool) -> HeldNotification? {
        guard let first = deadlines.first, first.due <= now, let key = slots[first.slot]?.key,
            let notification = slots[first.slot]?.held
        else { return nil }
        deadlines.removeFirst()
        if notification.atLimit == nil { pending.remove(first.slot, of: key.user) }
        slots[first.slot]?.held = nil
        if isRemembered { note(first.slot, key, leftAt: now) } else { freeIfUnused(first.slot) }
        return notification
    }

    // MARK: The limit per user

    func pendingCount(of user: UserKey) -> Int { pending.count(of: user) }

    /// Makes a user's oldest notifications due now, until at most `count` are pending.
    mutating func flushOldest(of user: UserKey, leaving count: Int, at now: Instant, because reason: AtLimit) {
        while pending.count(of: user) > count, let slot = pending.first(of: user) {
            pending.remove(slot, of: user)
            slots[slot]?.held?.atLimit = reason
            deadlines.move(slot, to: now)
        }
    }

    // MARK: Times at which notifications left

    /// Records that a notification of the key left.
    ///
    /// - Parameter slot: The slot of the key; nil if the key has no slot.
    mutating func note(_ slot: Int?, _ key: HoldKey, leftAt now: Instant) {
        let slot = slot ?? self.slot(for: key)
        if slots[slot]?.lastLeft != nil { leftLinks.remove(slot, from: &left) }
        leftLinks.append(slot, to: &left)
        slots[slot]?.lastLeft = now
    }

    /// Forgets notifications that left `memory` ago or earlier.
    mutating func forget(after memory: Duration, at now: Instant) {
        while let slot = left.first, let moment = slots[slot]?.lastLeft, moment.advanced(by: memory) <= now {
            leftLinks.remove(slot, from: &left)
            slots[slot]?.lastLeft = nil
            freeIfUnused(slot)
        }
    }

    /// The slots from which a notification left recently, the earliest first.
    var leftSlots: [Int] { leftLinks.slots(of: left) }

    // MARK: Slots

    private mutating func slot(for key: HoldKey) -> Int {
        if let slot = slotsByKey[key] { return slot }
        let slot = freeSlots.popLast() ?? slots.count
        if slot == slots.count { slots.append(Slot(key: key)) } else { slots[slot] = Slot(key: key) }
        slotsByKey[key] = slot
        return slot
    }

    private mutating func freeIfUnused(_ slot: Int) {
        guard let unused = slots[slot], unused.held == nil, unused.lastLeft == nil else { return }
        slotsByKey[unused.key] = nil
        slots[slot] = nil
        freeSlots.append(slot)
    }
}
