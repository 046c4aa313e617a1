import JSON

/// Assigns numbers to the values in subscriptions, so that the search for subscriptions compares numbers.
///
/// Only saved subscriptions add values. The values in changes are only looked up. 0 stands for any unknown value.
/// Values are never removed.
final class ValueTable {
    enum Kind: UInt8 {
        case text = 1
        case whole, fraction, reference, word, cell
    }

    static let unknown: UInt32 = 0
    /// The number that stands for an empty list. Any other list is represented by the numbers of its elements.
    static let emptyList: UInt32 = 1

    @exclusivity(unchecked) private var numbers = HashedNumbers()
    private let slots = Slab<SIMD2<UInt64>>(repeating: .zero, count: 2)
    /// The values that are too long for a slot.
    private let long = Slab<UInt8>()
    private let sets = ValueSets()
    /// How often saved clauses contain each value. Clauses of deleted subscriptions still count.
    private let uses = Slab<UInt32>(repeating: 0, count: 2)

    init() {}

    /// Unsafe read access, valid until the table is modified.
    @unsafe struct View {
        fileprivate let numbers: HashedNumbers.View
        fileprivate let slots: UnsafePointer<SIMD2<UInt64>>
        fileprivate let long: UnsafePointer<UInt8>
        let sets: ValueSets.View
    }

    @inline(__always)
    var view: View { unsafe View(numbers: numbers.view, slots: slots.base, long: long.base, sets: sets.view) }

    /// The number of a value. Adds the value if it is new, and adds one to the value's uses.
    func intern(_ kind: Kind, _ value: UnsafeRawBufferPointer) -> UInt32 {
        let hash = unsafe ByteHash.of(value, salt: UInt64(kind.rawValue))
        if let known = unsafe view.find(kind, value, hash) {
            uses[Int(known)] += 1
            return UInt32(bitPattern: known)
        }
        unsafe slots.append(slot(adding: kind, value))
        uses.append(1)
        unsafe numbers.insert(Int32(slots.count - 1), hash)
        return unsafe UInt32(slots.count - 1)
    }

    func intern(_ kind: Kind, _ value: UInt64) -> UInt32 {
        unsafe withUnsafeBytes(of: value) { unsafe intern(kind, $0) }
    }

    func intern(_ value: Int64) -> UInt32 { intern(.whole, UInt64(bitPattern: value)) }

    func intern(_ value: Double) -> UInt32 {
        Int64(exactly: value).map { intern($0) } ?? intern(.fraction, value.bitPattern)
    }

    /// The number of a set of values. Adds the set if it is new.
    func intern(set values: [UInt32]) -> UInt32 { sets.intern(values) }

    func uses(of value: UInt32) -> Int { Int(uses[Int(value)]) }
}

/// Assigns consecutive numbers to sets of values.
final class ValueSets {
    private var numbers: [[UInt32]: UInt32] = [:]
    private let values = Slab<UInt32>()
    /// The index in `values` at which each set starts, then the end of the last set.
    private let starts = Slab(repeating: 0, count: 1)

    /// Unsafe read access, valid until a set is added.
    @unsafe struct View {
        fileprivate let values: UnsafePointer<UInt32>
        fileprivate let starts: UnsafePointer<Int>

        @inline(__always)
        func contains(_ value: UInt32, in set: UInt32) -> Bool {
            for index in unsafe starts[Int(set)]..<starts[Int(set) + 1] where unsafe values[index] == value {
                return true
            }
            return false
        }
    }

    @inline(__always)
    var view: View { unsafe View(values: values.base, starts: starts.base) }

    func intern(_ set: [UInt32]) -> UInt32 {
        if let known = numbers[set] { return known }
        for value in set { values.append(value) }
        unsafe starts.append(values.count)
        numbers[set] = unsafe UInt32(starts.count - 2)
        return unsafe UInt32(starts.count - 2)
    }
}

// MARK: - Finding

extension ValueTable.View {
    @inline(__always)
    func find(_ kind: ValueTable.Kind, _ value: UnsafeRawBufferPointer) -> UInt32 {
        let hash = unsafe ByteHash.of(value, salt: UInt64(kind.rawValue))
        return unsafe find(kind, value, hash).map { UInt32(bitPattern: $0) } ?? ValueTable.unknown
    }

    @inline(__always)
    func find(_ kind: ValueTable.Kind, _ value: UInt64) -> UInt32 {
        unsafe withUnsafeBytes(of: value) { unsafe find(kind, $0) }
    }

    @inline(__always)
    func find(_ value: Int64) -> UInt32 { unsafe find(.whole, UInt64(bitPattern: value)) }

    /// A double that is equal to an integer has the same number as the integer.
    @inline(__always)
    func find(_ value: Double) -> UInt32 {
        unsafe Int64(exactly: value).map { unsafe find($0) } ?? find(.fraction, value.bitPattern)
    }

    @inline(__always)
    fileprivate func find(_ kind: ValueTable.Kind, _ value: UnsafeRawBufferPointer, _ hash: Int) -> Int32? {
        guard value.count <= ValueTable.shortMax else { return unsafe findLong(kind, value, hash) }
        let slot = unsafe ValueTable.slot(kind, value)
        return unsafe numbers.find(hash) { unsafe slots[Int($0)] == slot }
    }

    @inline(never)
    private func findLong(_ kind: ValueTable.Kind, _ value: UnsafeRawBufferPointer, _ hash: Int) -> Int32? {
        unsafe numbers.find(hash) { number in
            let slot = unsafe slots[Int(number)]
            guard slot[0] == ValueTable.longSlot(kind, value.count, at: 0)[0] else { return false }
            return unsafe UnsafeRawBufferPointer(start: long + Int(slot[1]), count: value.count).isSame(as: value)
        }
    }
}

// MARK: - Slots

extension ValueTable {
    // The slot of a short value consists of length, kind and value. The slot of a long value consists of 255, the
    // kind, the length and the offset in `long`.
    fileprivate static let shortMax = 14
    private static let longMark: UInt64 = 255

    @inline(__always)
    fileprivate static func slot(_ kind: Kind, _ value: UnsafeRawBufferPointer) -> SIMD2<UInt64> {
        let (low, high) = unsafe value.sixteenBytes
        return SIMD2(UInt64(value.count) | UInt64(kind.rawValue) << 8 | low << 16, low >> 48 | high << 16)
    }

    private func slot(adding kind: Kind, _ value: UnsafeRawBufferPointer) -> SIMD2<UInt64> {
        guard value.count > ValueTable.shortMax else { return unsafe ValueTable.slot(kind, value) }
        unsafe long.append(contentsOf: value)
        return unsafe ValueTable.longSlot(kind, value.count, at: long.count - value.count)
    }

    fileprivate static func longSlot(_ kind: Kind, _ count: Int, at start: Int) -> SIMD2<UInt64> {
        SIMD2(longMark | UInt64(kind.rawValue) << 8 | UInt64(count) << 16, UInt64(start))
    }
}

extension UnsafeRawBufferPointer {
    /// The buffer's bytes, followed by zeros. The buffer must not have more than sixteen bytes.
    @inline(__always)
    fileprivate var sixteenBytes: (UInt64, UInt64) {
        if count >= 8 {
            let last = unsafe loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
            return unsafe (loadUnaligned(as: UInt64.self), count == 8 ? 0 : last >> UInt64(8 * (16 - count)))
        }
        if count >= 4 {
            let last = unsafe UInt64(loadUnaligned(fromByteOffset: count - 4, as: UInt32.self))
            return unsafe (UInt64(loadUnaligned(as: UInt32.self)) | last << UInt64(8 * (count - 4)), 0)
        }
        guard count > 0 else { return (0, 0) }
        let middle = unsafe UInt64(self[count / 2]) << UInt64(8 * (count / 2))
        return unsafe (UInt64(self[0]) | middle | UInt64(self[count - 1]) << UInt64(8 * (count - 1)), 0)
    }
}
