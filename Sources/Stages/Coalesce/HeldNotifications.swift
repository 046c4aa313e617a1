import Time

/// All held notifications by key and by deadline.
///
/// A key has a slot while a notification of the key is held, and while the stage remembers when a notification of the
/// key left. In this file, "left recently" means that the stage still remembers when the notification left.
///
/// Holding, moving or removing one notification takes logarithmic time at most. Beyond its text and the list of its
/// earlier changes, a held notification takes less than 200 bytes.
struct HeldNotifications {
    fileprivate enum Content {
        case free
        /// No notification is held. A notification of the key left recently.
        case left(HoldKey)
        /// A notification of the key may also have left recently.
        case held(HeldNotification)
    }

    private var contents: [Content] = []
    /// The hash of each slot's key.
    private var hashes: [UInt32] = []
    /// When a notification left a slot recently; ``notLeft`` if none did. May be shorter than `contents`.
    private var leftTimes: [Instant] = []
    private var freeSlots: [UInt32] = []
    private var slotsByKey = SlotTable()
    private var deadlines = DeadlineHeap()
    /// The pending notifications: the held notifications that count toward the limit per user.
    private var pending = PendingByUser()
    /// The slots from which a notification left recently, the earliest first.
    private var recentlyLeft = SlotChain()
    private var recentlyLeftLinks = SlotLinks()

    private static let notLeft = Instant(microseconds: .min)

    var deadline: Instant? { deadlines.first?.due }

    /// Whether no key has a slot.
    var isEmpty: Bool { slotsByKey.count == 0 }

    func slot(of key: HoldKey) -> Int? {
        let hash = key.shortHash
        return slotsByKey.first(hash) { hashes[$0] == hash && hasKey($0, key) }
    }

    private func hasKey(_ slot: Int, _ key: HoldKey) -> Bool {
        switch contents[slot] {
        case .free: false
        case .left(let own): own == key
        case .held(let notification): notification.isHeld(as: key)
        }
    }

    func isHeld(_ slot: Int) -> Bool {
        if case .held = contents[slot] { true } else { false }
    }

    func key(_ slot: Int) -> HoldKey? {
        switch contents[slot] {
        case .free: nil
        case .left(let key): key
        case .held(let notification): notification.key
        }
    }

    /// When the notification in the slot leaves.
    func due(_ slot: Int) -> Instant { deadlines.due(slot) }

    /// The position of the first match of the notification in the slot. Notifications that are due at the same time
    /// leave in the order of these positions.
    func firstMatch(_ slot: Int) -> UInt64 { deadlines.order(slot) }

    func lastLeft(_ slot: Int) -> Instant? { hasLeft(slot) ? leftTimes[slot] : nil }

    private func hasLeft(_ slot: Int) -> Bool { slot < leftTimes.count && leftTimes[slot] != Self.notLeft }

    /// All slots with a held notification, in no particular order.
    var heldSlots: [Int] { contents.indices.filter { isHeld($0) } }

    subscript(slot: Int) -> HeldNotification {
        guard case .held(let notification) = contents[slot] else {
            preconditionFailure("slot \(slot) holds no notification")
        }
        return notification
    }

    // MARK: Holding

    /// - Parameter first: See ``firstMatch(_:)``.
    mutating func insert(_ notification: HeldNotification, as key: HoldKey, due: Instant, first: UInt64) {
        let slot = slot(of: key) ?? newSlot(of: key)
        contents[slot] = .held(notification)
        deadlines.insert(.init(due: due, order: first, slot: slot))
        guard notification.atLimit == nil else { return }
        let contents = contents
        pending.append(slot, key.userHash) { contents.isOfUser($0, of: key) }
    }

    /// Puts a newer match in the place of the newest match of the notification in a slot.
    mutating func replace(_ slot: Int, with match: Match) {
        guard case .held(var notification) = contents[slot] else {
            preconditionFailure("slot \(slot) holds no notification")
        }
        // If this array still shared the notification, `replace` would copy the notification's list of earlier changes.
        contents[slot] = .free
        notification.replace(with: match)
        contents[slot] = .held(notification)
    }

    mutating func move(_ slot: Int, to due: Instant) { deadlines.move(slot, to: due) }

    /// Removes the next notification that is due by `now`. Of notifications with the same due time, the notification
    /// that was held first leaves first.
    ///
    /// - Parameter isRemembered: Whether to record when the notification left.
    mutating func removeFirst(dueAt now: Instant, isRemembered: Bool) -> HeldNotification? {
        guard let first = deadlines.first, first.due <= now else { return nil }
        let (slot, notification) = (first.slot, self[first.slot])
        deadlines.removeFirst()
        if notification.atLimit == nil { removeFromPending(slot, notification) }
        if isRemembered || hasLeft(slot) { contents[slot] = .left(notification.key) } else { free(slot) }
        if isRemembered { note(slot, leftAt: now) }
        return notification
    }

    // MARK: The limit per user

    /// The number of pending notifications of a key's user.
    func pendingCount(of key: HoldKey) -> Int { firstPending(of: key).map { pending.count(from: $0) } ?? 0 }

    /// Makes the oldest notifications of a key's user due now, until at most `count` are pending.
    mutating func flushOldest(of key: HoldKey, leaving count: Int, at now: Instant, because reason: AtLimit) {
        while let slot = firstPending(of: key), pending.count(from: slot) > count {
            let notification = self[slot]
            removeFromPending(slot, notification)
            contents[slot] = .held(notification.leaving(because: reason))
            deadlines.move(slot, to: now)
        }
    }

    private func firstPending(of key: HoldKey) -> Int? {
        pending.first(key.userHash) { contents.isOfUser($0, of: key) }
    }

    private mutating func removeFromPending(_ slot: Int, _ notification: HeldNotification) {
        let contents = contents
        pending.remove(slot) { contents.isOfUser($0, of: notification) }
    }

    // MARK: Times at which notifications left

    /// Records that a notification of the key left.
    ///
    /// - Parameter slot: The slot of the key; nil if the key has no slot.
    mutating func note(_ slot: Int?, _ key: HoldKey, leftAt now: Instant) {
        note(slot ?? newSlot(of: key), leftAt: now)
    }

    private mutating func note(_ slot: Int, leftAt now: Instant) {
        if hasLeft(slot) { recentlyLeftLinks.remove(slot, from: &recentlyLeft) }
        recentlyLeftLinks.append(slot, to: &recentlyLeft)
        while leftTimes.count <= slot { leftTimes.append(Self.notLeft) }
        leftTimes[slot] = now
    }

    /// Forgets the times at which notifications left, if these times are at least `memory` ago.
    mutating func forget(after memory: Duration, at now: Instant) {
        while let slot = recentlyLeft.first, leftTimes[slot].advanced(by: memory) <= now {
            recentlyLeftLinks.remove(slot, from: &recentlyLeft)
            leftTimes[slot] = Self.notLeft
            if !isHeld(slot) { free(slot) }
        }
    }

    /// The slots from which a notification left recently, the earliest first.
    var recentlyLeftSlots: [Int] { recentlyLeftLinks.slots(of: recentlyLeft) }

    // MARK: Slots

    private mutating func newSlot(of key: HoldKey) -> Int {
        let slot = freeSlots.popLast().map { Int($0) } ?? contents.count
        if slot == contents.count {
            contents.append(.left(key))
            hashes.append(key.shortHash)
        } else {
            contents[slot] = .left(key)
            hashes[slot] = key.shortHash
        }
        let hashes = hashes
        slotsByKey.insert(slot) { hashes[$0] }
        return slot
    }

    private mutating func free(_ slot: Int) {
        let hashes = hashes
        slotsByKey.remove(slot) { hashes[$0] }
        contents[slot] = .free
        freeSlots.append(UInt32(slot))
    }
}

extension [HeldNotifications.Content] {
    /// Whether the slot holds a notification for the user of a key.
    fileprivate func isOfUser(_ slot: Int, of key: HoldKey) -> Bool {
        if case .held(let notification) = self[slot] { notification.isOfUser(of: key) } else { false }
    }

    /// Whether the slot holds a notification for the user of another notification.
    fileprivate func isOfUser(_ slot: Int, of other: HeldNotification) -> Bool {
        if case .held(let notification) = self[slot] { notification.hasSameUser(as: other) } else { false }
    }
}
