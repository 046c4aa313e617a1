/// Stores texts of some dozens or hundreds of bytes in one block of memory. The space of removed texts is used again.
struct TextStore {
    /// The position of a text, in units of eight bytes.
    typealias Place = UInt32

    private let units = Slab<UInt64>()
    private var rooms = Rooms()

    private static let unitBytes = MemoryLayout<UInt64>.size
    /// A text of at most this many units is in a class of its exact size. The classes for longer texts have this size times
    /// a power of two.
    private static let unitsOfOwnSize = 128

    /// Whether a text of up to 128 MiB can be added. The room is limited because a place has only 32 bits.
    var hasRoom: Bool { unsafe units.count < Int(Place.max) - 1 << 25 }

    mutating func add(_ text: UnsafeRawBufferPointer) -> Place {
        let sizeClass = TextStore.sizeClass(text.count)
        let place = rooms.take(sizeClass).map { Place(bitPattern: $0) } ?? newRoom(sizeClass)
        let room = unsafe UnsafeMutableRawPointer(units.base + Int(place))
        unsafe room.storeBytes(of: UInt32(text.count), as: UInt32.self)
        if let start = text.baseAddress { unsafe (room + 4).copyMemory(from: start, byteCount: text.count) }
        return place
    }

    /// The text at a place. The buffer is valid until the next text is added.
    @inline(__always)
    subscript(place: Place) -> UnsafeRawBufferPointer {
        unsafe precondition(Int(place) < units.count, "the place is outside the store")
        let room = unsafe UnsafeRawPointer(units.base + Int(place))
        return unsafe UnsafeRawBufferPointer(start: room + 4, count: Int(room.load(as: UInt32.self)))
    }

    mutating func remove(_ place: Place) {
        unsafe rooms.giveBack(Int32(bitPattern: place), TextStore.sizeClass(self[place].count))
    }

    private mutating func newRoom(_ sizeClass: Int) -> Place {
        precondition(hasRoom, "a text is added to a full store")
        units.append(repeating: 0, TextStore.units(sizeClass))
        return unsafe Place(units.count - TextStore.units(sizeClass))
    }

    /// The size class for a text of `bytes` bytes and its length of four bytes.
    private static func sizeClass(_ bytes: Int) -> Int {
        let units = (bytes + 4 + unitBytes - 1) / unitBytes
        if units <= unitsOfOwnSize { return units - 1 }
        let doublings = Int.bitWidth - ((units - 1) / unitsOfOwnSize).leadingZeroBitCount
        return unitsOfOwnSize - 1 + doublings
    }

    private static func units(_ sizeClass: Int) -> Int {
        sizeClass < unitsOfOwnSize ? sizeClass + 1 : unitsOfOwnSize << (sizeClass - unitsOfOwnSize + 1)
    }
}
