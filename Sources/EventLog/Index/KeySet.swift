/// The distinct keys of a block. The set is reused for the next block, so that its memory is kept.
struct KeySet {
    /// An open-addressing hash table. Its size is a power of two; 0 means an empty slot.
    private var table = [UInt64](repeating: 0, count: 1 << 10)
    private(set) var keys: [UInt64] = []

    mutating func insert(_ key: UInt64) {
        if keys.count * 2 >= table.count { grow() }
        let key = BlockFilter.normalized(key)
        if KeySet.place(key, in: &table) { keys.append(key) }
    }

    mutating func removeAll() {
        if keys.isEmpty { return }
        keys.removeAll(keepingCapacity: true)
        _ = unsafe table.withUnsafeMutableBytes { unsafe $0.initializeMemory(as: UInt8.self, repeating: 0) }
    }

    private mutating func grow() {
        table = [UInt64](repeating: 0, count: table.count * 2)
        for key in keys { _ = KeySet.place(key, in: &table) }
    }

    /// Returns false if the key was in the table already.
    @inline(__always)
    private static func place(_ key: UInt64, in table: inout [UInt64]) -> Bool {
        unsafe table.withUnsafeMutableBufferPointer { table in
            var slot = Int(truncatingIfNeeded: key) & (table.count - 1)
            while unsafe table[slot] != 0 {
                if unsafe table[slot] == key { return false }
                slot = (slot + 1) & (table.count - 1)
            }
            unsafe table[slot] = key
            return true
        }
    }
}
