/// The position of a record in the order of a query.
struct RecordPosition: Hashable, Sendable {
    /// A key for each element of `sortBy`.
    let keys: [[UInt8]]
    let id: Int64
}

/// The order of a query's results: by the sort keys, then by creation. The order by creation has the direction of the
/// first key.
struct RecordOrder: Sendable {
    /// For each sort key, whether it is ascending.
    let areAscending: [Bool]

    var isAscending: Bool { areAscending.first ?? true }

    func precedes(_ left: RecordPosition, _ right: RecordPosition) -> Bool {
        for (index, isAscending) in areAscending.enumerated() {
            let order = RecordOrder.compare(left.keys[index], right.keys[index])
            if order != 0 { return (order < 0) == isAscending }
        }
        return left.id != right.id && (left.id < right.id) == isAscending
    }

    /// Whether a record with this first key and ID can come before the position. The record's other keys are not known.
    ///
    /// - Parameter key: Ignored if the order has no sort keys.
    func mayPrecede(firstKey key: [UInt8], id: Int64, _ position: RecordPosition) -> Bool {
        let order = areAscending.isEmpty ? 0 : RecordOrder.compare(key, position.keys[0])
        if order != 0 { return (order < 0) == isAscending }
        return areAscending.count > 1 || (id != position.id && (id < position.id) == isAscending)
    }

    private static func compare(_ left: [UInt8], _ right: [UInt8]) -> Int {
        for (one, other) in zip(left, right) where one != other { return one < other ? -1 : 1 }
        return left.count - right.count
    }
}

/// Of all positions that were offered, the first ones after `start`, at most `limit`.
struct FirstPositions {
    let order: RecordOrder
    let limit: Int
    /// Only positions after this position are kept; nil to keep positions from the beginning.
    let start: RecordPosition?
    /// The kept positions, in order.
    private(set) var positions: [RecordPosition] = []

    init(_ order: RecordOrder, limit: Int, after start: RecordPosition?) {
        (self.order, self.limit, self.start) = (order, limit, start)
    }

    private var isFull: Bool { positions.count == limit }

    mutating func offer(_ position: RecordPosition) {
        if let start, !order.precedes(start, position) { return }
        if isFull, let last = positions.last {
            guard order.precedes(position, last) else { return }
            positions.removeLast()
        }
        positions.insert(position, at: insertionIndex(of: position))
    }

    private func insertionIndex(of position: RecordPosition) -> Int {
        var (low, high) = (0, positions.count)
        while low < high {
            let middle = (low + high) / 2
            if order.precedes(positions[middle], position) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Whether the list is full, and neither a record with this first key and ID nor any record after it can enter the
    /// list. "After" is in the order of the first key and, for equal first keys, of the ID.
    ///
    /// - Parameter key: Ignored if the order has no sort keys.
    func isClosed(toFirstKey key: [UInt8], id: Int64) -> Bool {
        guard isFull, let last = positions.last else { return false }
        return !order.mayPrecede(firstKey: key, id: id, last)
    }
}
