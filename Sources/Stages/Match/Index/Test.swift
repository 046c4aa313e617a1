/// A comparison of a column with one number, two numbers or a set of numbers, as part of an ``Entry``.
///
/// If a record fails a test, the subscription does not watch the change of the record.
struct Test {
    enum Operation: UInt32 {
        /// The number is from `low` to `high`.
        case range
        /// The number is from `low` to `high`. If it is equal to one of the bounds, the predicate must decide.
        case fuzzyRange
        /// The number is not `low`, and the kind of the value has the raw value `high`.
        case not
        /// The number is `low` or `high`.
        case pair
        /// The number is in the set whose number is `low`.
        case set
        /// The number is not in the set whose number is `low`, and the kind of the value has the raw value `high`.
        case notSet
        /// One of the column's numbers is `low`.
        case member
        /// One of the column's numbers is in the set whose number is `low`.
        case memberSet
    }

    let column: Columns.Number
    var operation: Operation
    var low: UInt32
    var high: UInt32

    /// The kind of a value. The tests `not` and `notSet` require a different value of the same kind.
    enum Kind: UInt8 {
        case other, text, number, reference
    }

    static func equal(_ column: Columns.Number, _ value: UInt32) -> Test {
        Test(column: column, operation: .range, low: value, high: value)
    }

    var isRange: Bool { operation == .range || operation == .fuzzyRange }

    /// Narrows this range to its intersection with another range of the same column.
    mutating func narrow(to other: Test) {
        if other.operation == .fuzzyRange { operation = .fuzzyRange }
        (low, high) = (max(low, other.low), min(high, other.high))
    }
}

/// A subscription in a list of the index: its slot, its reasons and up to three tests, in 32 bytes.
struct Entry {
    static let testsMax = 3
    static let slotMax: Int32 = 1 << 26 - 1

    let bits: SIMD8<UInt32>

    init(bits: SIMD8<UInt32>) { self.bits = bits }

    /// - Parameters:
    ///   - tests: The entry has room for three tests and leaves out any others.
    ///   - isCertain: ``Shape/isCertain`` of the subscription's shape.
    init(slot: Int32, firesOn: Reason, tests: some Collection<Test>, isCertain: Bool) {
        var bits = SIMD8<UInt32>(repeating: 0)
        let count = min(tests.count, Entry.testsMax)
        let isCertain = isCertain && tests.count == count
        bits[0] =
            UInt32(bitPattern: slot) << 6 | (isCertain ? 0 : 1) << 5 | UInt32(count) << 3 | UInt32(firesOn.rawValue)
        for (index, test) in tests.prefix(count).enumerated() {
            bits[1] |= (test.operation.rawValue << 7 | UInt32(test.column)) << UInt32(10 * index)
            bits[2 + 2 * index] = test.low
            bits[3 + 2 * index] = test.high
        }
        self.bits = bits
    }

    var slot: Int32 { Int32(bitPattern: bits[0] >> 6) }

    /// The bits of the columns that the tests compare. If one of these columns is empty, its test fails.
    var columnBits: UInt32 {
        var columns: UInt32 = 0
        for index in 0..<(bits[0] >> 3 & 3) { columns |= Forest.bit(UInt8(bits[1] >> (10 * index) & 0x7F)) }
        return columns
    }
}

/// Reads an ``Entry`` in memory without copying it.
@unsafe struct EntryView {
    private let words: UnsafePointer<UInt32>

    @inline(__always)
    init(_ entry: UnsafePointer<SIMD8<UInt32>>) {
        unsafe words = UnsafeRawPointer(entry).assumingMemoryBound(to: UInt32.self)
    }

    @inline(__always)
    var slot: Int32 { unsafe Int32(bitPattern: words[0] >> 6) }

    @inline(__always)
    func fires(on reason: Reason) -> Bool { unsafe words[0] & UInt32(reason.rawValue) != 0 }

    @inline(__always)
    var testCount: Int { unsafe Int(words[0] >> 3 & 3) }

    @inline(__always)
    var isCertain: Bool { unsafe words[0] & 32 == 0 }

    @inline(__always)
    func column(_ test: Int) -> Int { unsafe Int(words[1] >> UInt32(10 * test) & 0x7F) }

    @inline(__always)
    func operation(_ test: Int) -> UInt32 { unsafe words[1] >> UInt32(10 * test + 7) & 7 }

    @inline(__always)
    func low(_ test: Int) -> UInt32 { unsafe words[2 + 2 * test] }

    @inline(__always)
    func high(_ test: Int) -> UInt32 { unsafe words[3 + 2 * test] }
}
