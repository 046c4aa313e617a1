import JSON

/// The lists of the index, as trees: a list holds entries, and has children for those of one value of one column.
///
/// A list and its key stand together in units of 32 bytes, so that one that holds an entry costs two looks at memory:
/// one at its place in the table, one at itself.
struct Forest {
    /// What a list is for.
    struct Key: Equatable {
        /// The parent's ID; of a root what the index says, with the highest bit set.
        let parent: UInt32
        let value: UInt32
        let column: Columns.Number
        /// What else a root is for.
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

        /// Names the list for as long as it is there.
        @inline(__always)
        var id: UInt32 { bits[2] }
        /// How many entries it holds.
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
        /// Columns by whose values it has had children, and by which it has had intervals: a bit for each column's number
        /// modulo 32.
        @inline(__always)
        var valueColumns: UInt32 {
            get { bits[5] }
            set { bits[5] = newValue }
        }
        @inline(__always)
        var intervalColumns: UInt32 {
            get { bits[6] }
            set { bits[6] = newValue }
        }
    }

    private var table = HashedNumbers()
    private let units = Slab<SIMD8<UInt32>>()
    /// Where each list stands, by its ID.
    private var offsets = Pool<Int32>()
    private var rooms = Rooms()

    /// How many lists there are.
    var count: Int { table.count }

    mutating func reserveCapacity(_ count: Int) { units.reserveCapacity(count * 5 / 2) }

    @inline(__always)
    static func bit(_ column: Columns.Number) -> UInt32 { 1 << (UInt32(column) & 31) }

    func header(_ id: UInt32) -> Header { Header(bits: units[offset(id)]) }

    private func offset(_ id: UInt32) -> Int { Int(offsets[Int32(bitPattern: id)]) }

    private static func capacity(_ sizeClass: Int) -> Int {
        sizeClass < 4 ? sizeClass + 1 : (6 + 2 * (sizeClass & 1)) << ((sizeClass - 4) / 2)
    }
}

// MARK: - Looking

extension Forest {
    /// The memory of a forest while it does not change.
    @unsafe struct View {
        let units: UnsafePointer<SIMD8<UInt32>>
        let table: HashedNumbers.View

        /// Where a list stands.
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
    /// The list's ID; one is made where none is.
    mutating func list(_ key: Key) -> UInt32 {
        if let offset = unsafe view.find(key) { return Header(bits: units[offset]).id }
        let offset = room(sizeClass: 0)
        let id = UInt32(bitPattern: offsets.add(offset))
        units[Int(offset)] = Header(key, id: id, sizeClass: 0).bits
        table.insert(offset, key.hash)
        return id
    }

    /// The list of those of a parent's entries that ask for a value.
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

    /// - Returns: The slot of the entry that takes the place of the one removed, if one does, and where it stood.
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

    mutating func removeChild(of id: UInt32) {
        update(id) { $0.childCount -= 1 }
        removeIfEmpty(id)
    }

    private mutating func removeIfEmpty(_ id: UInt32) {
        let header = header(id)
        guard header.count == 0, header.childCount == 0 else { return }
        let offset = offset(id)
        table.remove(Int32(offset), header.key.hash)
        giveBack(Int32(offset), header.sizeClass)
        offsets.free(Int32(bitPattern: id))
        if header.key.parent & Key.rootBit == 0 { removeChild(of: header.key.parent) }
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
        giveBack(Int32(before), header.sizeClass)
        header.sizeClass += 1
    }

    private mutating func room(sizeClass: Int) -> Int32 {
        if let offset = rooms.take(sizeClass) { return offset }
        let offset = unsafe Int32(units.count)
        units.append(repeating: SIMD8(repeating: 0), Forest.capacity(sizeClass) + 1)
        return offset
    }

    private mutating func giveBack(_ offset: Int32, _ sizeClass: Int) { rooms.giveBack(offset, sizeClass) }
}
