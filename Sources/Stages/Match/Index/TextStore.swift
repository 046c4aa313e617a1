/// Stores texts of some dozens or hundreds of bytes in one block of memory. The space of removed texts is used again.
struct TextStore {
    /// The position of a text, in units of eight bytes.
    typealias Position = UInt32

    private let units = Slab<UInt64>()
    private var freeRanges = FreeRanges()

    private static let unitBytes = MemoryLayout<UInt64>.size
    /// A text of at most this many units is in a class of its exact size. Each class for longer texts has this many
    /// units times a power of two.
    private static let exactUnitsMax = 128

    /// Whether a text of up to 128 MiB can be added. The store is limited because a position has only 32 bits.
    var hasRoom: Bool { unsafe units.count < Int(Position.max) - 1 << 25 }

    mutating func add(_ text: UnsafeRawBufferPointer) -> Position {
        let sizeClass = TextStore.sizeClass(text.count)
        let position = freeRanges.take(sizeClass).map { Position(bitPattern: $0) } ?? newRange(sizeClass)
        let memory = unsafe UnsafeMutableRawPointer(units.base + Int(position))
        unsafe memory.storeBytes(of: UInt32(text.count), as: UInt32.self)
        if let start = text.baseAddress { unsafe (memory + 4).copyMemory(from: start, byteCount: text.count) }
        return position
    }

    /// The text at a position. The buffer is valid until the next text is added.
    @inline(__always)
    subscript(position: Position) -> UnsafeRawBufferPointer {
        unsafe precondition(Int(position) < units.count, "position \(position) is outside the store")
        let memory = unsafe UnsafeRawPointer(units.base + Int(position))
        return unsafe UnsafeRawBufferPointer(start: memory + 4, count: Int(memory.load(as: UInt32.self)))
    }

    mutating func remove(_ position: Position) {
        unsafe freeRanges.free(Int32(bitPattern: position), TextStore.sizeClass(self[position].count))
    }

    private mutating func newRange(_ sizeClass: Int) -> Position {
        precondition(hasRoom, "a text is added to a full store")
        units.append(repeating: 0, TextStore.units(sizeClass))
        return unsafe Position(units.count - TextStore.units(sizeClass))
    }

    /// The size class for a text of `bytes` bytes. The text's length takes four more bytes.
    private static func sizeClass(_ bytes: Int) -> Int {
        let units = (bytes + 4 + unitBytes - 1) / unitBytes
        if units <= exactUnitsMax { return units - 1 }
        let doublings = Int.bitWidth - ((units - 1) / exactUnitsMax).leadingZeroBitCount
        return exactUnitsMax - 1 + doublings
    }

    private static func units(_ sizeClass: Int) -> Int {
        sizeClass < exactUnitsMax ? sizeClass + 1 : exactUnitsMax << (sizeClass - exactUnitsMax + 1)
    }
}
