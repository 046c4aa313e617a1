import JSON

/// Assigns consecutive numbers to pairs of numbers.
struct PairTable {
    private var numbers = HashedNumbers()
    private let pairs = Slab<UInt64>()

    var count: Int { unsafe pairs.count }

    @inline(__always)
    func find(_ left: Int32, _ right: Int32) -> Int32? {
        let pair = PairTable.pair(left, right)
        return numbers.find(ByteHash.of(pair)) { pairs[Int($0)] == pair }
    }

    mutating func intern(_ left: Int32, _ right: Int32) -> Int32 {
        if let number = find(left, right) { return number }
        pairs.append(PairTable.pair(left, right))
        unsafe numbers.insert(Int32(pairs.count - 1), ByteHash.of(PairTable.pair(left, right)))
        return unsafe Int32(pairs.count - 1)
    }

    @inline(__always)
    private static func pair(_ left: Int32, _ right: Int32) -> UInt64 {
        UInt64(UInt32(bitPattern: left)) << 32 | UInt64(UInt32(bitPattern: right))
    }
}
