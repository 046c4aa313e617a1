import Time

/// A binary heap of the deadlines of the slots of `HeldNotifications`. The deadline of a slot can be changed.
struct DeadlineHeap {
    struct Entry {
        var due: Instant
        /// The lower order comes first among equal deadlines.
        let order: UInt64
        let slot: Int

        static func < (left: Entry, right: Entry) -> Bool {
            left.due == right.due ? left.order < right.order : left.due < right.due
        }
    }

    private var entries: [Entry] = []
    /// The index in `entries` for each slot.
    private var positions: [UInt32] = []

    var first: Entry? { entries.first }

    func due(_ slot: Int) -> Instant { entries[Int(positions[slot])].due }
    func order(_ slot: Int) -> UInt64 { entries[Int(positions[slot])].order }

    mutating func insert(_ entry: Entry) {
        while positions.count <= entry.slot { positions.append(0) }
        entries.append(entry)
        rise(entry, from: entries.count - 1)
    }

    mutating func removeFirst() {
        let last = entries.removeLast()
        if !entries.isEmpty { sink(last, from: 0) }
    }

    mutating func move(_ slot: Int, to due: Instant) {
        let position = Int(positions[slot])
        var entry = entries[position]
        let isLater = due > entry.due
        entry.due = due
        if isLater { sink(entry, from: position) } else { rise(entry, from: position) }
    }

    private mutating func rise(_ entry: Entry, from start: Int) {
        var position = start
        while position > 0 {
            let parent = (position - 1) / 2
            guard entry < entries[parent] else { break }
            place(entries[parent], at: position)
            position = parent
        }
        place(entry, at: position)
    }

    private mutating func sink(_ entry: Entry, from start: Int) {
        var position = start
        while let child = lesserChild(of: position), entries[child] < entry {
            place(entries[child], at: position)
            position = child
        }
        place(entry, at: position)
    }

    private func lesserChild(of position: Int) -> Int? {
        let left = 2 * position + 1
        guard left < entries.count else { return nil }
        let right = left + 1
        return right < entries.count && entries[right] < entries[left] ? right : left
    }

    private mutating func place(_ entry: Entry, at position: Int) {
        entries[position] = entry
        positions[entry.slot] = UInt32(position)
    }
}
