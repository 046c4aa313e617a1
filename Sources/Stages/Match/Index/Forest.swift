import JSON

/// The lists of entries in the subscription index. The lists form trees: a child list is for one value of one column.
///
/// A list is stored next to its key, in units of 32 bytes. So finding a list needs two memory accesses: one to the hash
/// table and one to the list.
struct Forest {
    /// Identifies a list.
    struct Key: Equatable {
        /// The ID of the parent list. A root has no parent: for it, the caller chooses a number with the highest bit
        /// set.
        let parent: UInt32
        let value: UInt32
        /// For a root, the raw value of a ``SubscriptionIndex/RootKind`` instead of a column.
        let column: Columns.Number
        /// For a root with the queries in one zone, the number of the zone's name; 0 for all other lists.
        var second: UInt32 = 0

        @inline(__always)
        var hash: Int {
            ByteHash.of(UInt64(parent) << 32 | UInt64(value), salt: UInt64(second) << 8 | UInt64(column))
        }

        static let rootBit: UInt32 = 1 << 31
    }

    /// The first unit of a list.
    struct Header {
        var bits: SIMD8<UInt32>

        @inline(__always)
        init(bits: SIMD8<UInt32>) { self.bits = bits }

        init(_ key: Key, id: UInt32, sizeClass: Int) {
            bits = SIMD8(key.parent, key.value, id, UInt32(key.column), UInt32(sizeClass), 0, 0, key.second)
        }

        @inline(__always)
        var key: Key {
            Key(parent: bits[0], value: bits[1], column: UInt8(truncatingIfNeeded: bits[3]), second: bits[7])
        }

        /// Identifies the list as long as it exists.
        @inline(__always)
        var id: UInt32 { bits[2] }
        /// The number of entries.
        @inline(__always)
        var count: Int {
            get { Int(bits[3] >> 8) }
            set { bits[3] = bits[3] & 0xFF | UInt32(newValue) << 8 }
        }
        var sizeClass: Int {
            get { Int(bits[4] & 0xFF) }
            set { bits[4] = bits[4] & ~0xFF | UInt32(newValue) }
        }
        var childCount: Int {
            get { Int(bits[4] >> 8) }
            set { bits[4] = bits[4] & 0xFF | UInt32(newValue) << 8 }
        }
        /// The columns of all child lists that the list has had: a bit for each column number modulo 32.
        @inline(__always)
        var valueColumns: UInt32 {
            get { bits[5] }
            set { bits[5] = newValue }
        }
        /// The columns of all intervals that the list has had: a bit for each column number modulo 32.
        @inline(__always)
        var intervalColumns: UInt32 {
            get { bits[6] }
            set { bits[6] = newValue }
        }
    }

    private var table = HashedNumbers()
    private let units = Slab<SIMD8<UInt32>>()
    /// Maps the ID of a list to its offset in `units`.
    private var offsets = Pool<Int32>()
    private var freeRanges = FreeRanges()

    /// The number of lists.
    var count: Int { table.count }

    mutating func reserveCapacity(forEntries count: Int) { units.reserveCapacity(count * 5 / 2) }

    @inline(__always)
    static func bit(_ column: Columns.Number) -> UInt32 { 1 << (UInt32(column) & 31) }

    func header(_ id: UInt32) -> Header { Header(bits: units[offset(id)]) }

    private func offset(_ id: UInt32) -> Int { Int(offsets[Int32(bitPattern: id)]) }

    private static func capacity(_ sizeClass: Int) -> Int {
        sizeClass < 4 ? sizeClass + 1 : (6 + 2 * (sizeClass & 1)) << ((sizeClass - 4) / 2)
    }
}

// MARK: - Finding

extension Forest {
    /// Unsafe read access, valid until the next change.
    @unsafe struct View {
        let units: UnsafePointer<SIMD8<UInt32>>
        let table: HashedNumbers.View

        /// The offset of a list; nil if the list does not exist.
        @inline(__always)
        func find(_ key: Key) -> Int? {
            unsafe table.find(key.hash) { unsafe Header(bits: units[Int($0)]).key == key }.map { Int($0) }
        }

        @inline(__always)
        func header(_ offset: Int) -> Header { unsafe Header(bits: units[offset]) }

        @inline(__always)
        func entry(_ index: Int, of offset: Int) -> EntryView { unsafe EntryView(units + (offset + 1 + index)) }
    }

    @inline(__always)
    var view: View { unsafe View(units: units.base, table: table.view) }
}

// MARK: - Adding and removing

extension Forest {
    /// The ID of a list, which is created if it does not exist.
    mutating func list(_ key: Key) -> UInt32 {
        if let offset = unsafe view.find(key) { return Header(bits: units[offset]).id }
        let offset = room(sizeClass: 0)
        let id = UInt32(bitPattern: offsets.add(offset))
        units[Int(offset)] = Header(key, id: id, sizeClass: 0).bits
        table.insert(offset, key.hash)
        return id
    }

    /// The ID of the child list for a value, which is created if it does not exist.
    mutating func child(of parent: UInt32, _ column: Columns.Number, _ value: UInt32) -> UInt32 {
        let before = count
        let child = list(Key(parent: parent, value: value, column: column))
        let new = count - before
        update(parent) {
            $0.valueColumns |= Forest.bit(column)
            $0.childCount += new
        }
        return child
    }

    /// Records that a list has intervals of a column. All intervals of the column count as one child of the list.
    ///
    /// - Parameter isNew: Whether the list had no intervals of the column before.
    mutating func addIntervals(to parent: UInt32, _ column: Columns.Number, isNew: Bool) {
        update(parent) {
            $0.intervalColumns |= Forest.bit(column)
            $0.childCount += isNew ? 1 : 0
        }
    }

    /// - Returns: The entry's position in the list.
    mutating func add(_ entry: Entry, to id: UInt32) -> Int {
        var header = header(id)
        if header.count == Forest.capacity(header.sizeClass) { grow(&header) }
        units[offset(id) + 1 + header.count] = entry.bits
        header.count += 1
        units[offset(id)] = header.bits
        return header.count - 1
    }

    /// Removes an entry and moves the last entry to its position.
    ///
    /// - Returns: The slot and the former position of the entry that moved; nil if the removed entry was at the end
    ///   of the list.
    mutating func remove(_ position: Int, from id: UInt32) -> (slot: Int32, position: Int)? {
        var header = header(id)
        let start = offset(id) + 1
        let last = header.count - 1
        header.count = last
        units[start + position] = units[start + last]
        units[start - 1] = header.bits
        defer { removeIfEmpty(id) }
        return position == last ? nil : (Entry(bits: units[start + position]).slot, last)
    }

    mutating func noteRemovedChild(of id: UInt32) {
        update(id) { $0.childCount -= 1 }
        removeIfEmpty(id)
    }

    private mutating func removeIfEmpty(_ id: UInt32) {
        let header = header(id)
        guard header.count == 0, header.childCount == 0 else { return }
        let offset = offset(id)
        table.remove(Int32(offset), header.key.hash)
        freeRanges.free(Int32(offset), header.sizeClass)
        offsets.free(Int32(bitPattern: id))
        if header.key.parent & Key.rootBit == 0 { noteRemovedChild(of: header.key.parent) }
    }

    private mutating func update(_ id: UInt32, _ body: (inout Header) -> Void) {
        var header = header(id)
        body(&header)
        units[offset(id)] = header.bits
    }

    private mutating func grow(_ header: inout Header) {
        let (before, hash) = (offset(header.id), header.key.hash)
        let after = Int(room(sizeClass: header.sizeClass + 1))
        for index in 0...header.count { units[after + index] = units[before + index] }
        table.remove(Int32(before), hash)
        table.insert(Int32(after), hash)
        offsets[Int32(bitPattern: header.id)] = Int32(after)
        freeRanges.free(Int32(before), header.sizeClass)
        header.sizeClass += 1
    }

    private mutating func room(sizeClass: Int) -> Int32 {
        if let offset = freeRanges.take(sizeClass) { return offset }
        let offset = unsafe Int32(units.count)
        units.append(repeating: SIMD8(repeating: 0), Forest.capacity(sizeClass) + 1)
        return offset
    }
}
