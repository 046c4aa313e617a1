import JSON

/// Numbers for the values that subscriptions ask for, so that what is compared for every change is a number.
///
/// Values come from saved subscriptions only; a change's are looked up, never added. 0 stands for every other value.
struct ValueTable {
    enum Kind: UInt8 {
        case text = 1
        case whole, fraction, reference, word, cell
    }

    static let unknown: UInt32 = 0
    /// Stands among the elements of a list without any.
    static let emptyList: UInt32 = 1

    private var numbers = HashedNumbers()
    /// Each value after its kind.
    private var bytes: [UInt8] = []
    /// Where each value ends in `bytes`; the one before says where it starts.
    private var ends: [UInt32] = [0, 0]
    private(set) var sets: [[UInt32]] = []
    private var setNumbers: [[UInt32]: UInt32] = [:]
    /// How many clauses ask for each.
    private var uses: [UInt32] = [0, 0]

    @inline(__always)
    func find(_ kind: Kind, _ value: UnsafeRawBufferPointer) -> UInt32 {
        numbers.find(ByteHash.of(value, salt: UInt64(kind.rawValue))) { isSame($0, kind, value) }
            .map { UInt32(bitPattern: $0) } ?? ValueTable.unknown
    }

    @inline(__always)
    func find(_ kind: Kind, _ value: UInt64) -> UInt32 { withUnsafeBytes(of: value) { find(kind, $0) } }

    @inline(__always)
    func find(_ value: Int64) -> UInt32 { find(.whole, UInt64(bitPattern: value)) }

    /// Numbers that are equal are the same value, however they are written.
    @inline(__always)
    func find(_ value: Double) -> UInt32 {
        Int64(exactly: value).map { find($0) } ?? find(.fraction, value.bitPattern)
    }

    /// Counts one more use.
    mutating func intern(_ kind: Kind, _ value: UnsafeRawBufferPointer) -> UInt32 {
        let hash = ByteHash.of(value, salt: UInt64(kind.rawValue))
        if let known = numbers.find(hash, where: { isSame($0, kind, value) }) {
            uses[Int(known)] += 1
            return UInt32(bitPattern: known)
        }
        bytes.append(kind.rawValue)
        bytes.append(contentsOf: value)
        ends.append(UInt32(bytes.count))
        uses.append(1)
        numbers.insert(Int32(ends.count - 1), hash)
        return UInt32(ends.count - 1)
    }

    mutating func intern(_ kind: Kind, _ value: UInt64) -> UInt32 { withUnsafeBytes(of: value) { intern(kind, $0) } }

    mutating func intern(_ value: Int64) -> UInt32 { intern(.whole, UInt64(bitPattern: value)) }

    mutating func intern(_ value: Double) -> UInt32 {
        Int64(exactly: value).map { intern($0) } ?? intern(.fraction, value.bitPattern)
    }

    /// A number for a set of values.
    mutating func set(_ values: [UInt32]) -> UInt32 {
        if let known = setNumbers[values] { return known }
        setNumbers[values] = UInt32(sets.count)
        sets.append(values)
        return UInt32(sets.count - 1)
    }

    func uses(of value: UInt32) -> Int { Int(uses[Int(value)]) }

    @inline(__always)
    private func isSame(_ number: Int32, _ kind: Kind, _ value: UnsafeRawBufferPointer) -> Bool {
        let (start, end) = (Int(ends[Int(number) - 1]), Int(ends[Int(number)]))
        return end - start - 1 == value.count
            && bytes.withUnsafeBytes {
                $0[start] == kind.rawValue
                    && UnsafeRawBufferPointer(rebasing: $0[(start + 1)..<end]).isSame(as: value)
            }
    }
}
