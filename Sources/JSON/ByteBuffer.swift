/// A growing run of bytes that is written from one place and never copied behind its owner's back.
///
/// The hot path writes whole batches of events into one buffer and hands its bytes on; `[UInt8]` would pay a
/// uniqueness check for every append. What is appended must not be the buffer's own bytes: growing moves them.
@safe public struct ByteBuffer: ~Copyable {
    @usableFromInline var base: UnsafeMutableRawPointer
    @usableFromInline var written: Int
    @usableFromInline var room: Int

    /// Has room for that many bytes, and for 16 at least, before it grows.
    public init(capacity: Int = 256) {
        room = max(capacity, 16)
        unsafe base = .allocate(byteCount: room, alignment: 16)
        written = 0
    }

    deinit { unsafe base.deallocate() }

    /// How many bytes were written.
    @inlinable public var count: Int { written }
    /// How many bytes fit before it grows.
    @inlinable package var capacity: Int { room }
    /// Whether nothing was written since it was made or emptied.
    @inlinable public var isEmpty: Bool { written == 0 }

    /// The bytes written so far; valid until the next write.
    @inlinable package var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: base, count: written) }

    /// Forgets the bytes and keeps the memory.
    @inlinable package mutating func removeAll() { written = 0 }

    /// Forgets all bytes from `count` on.
    @inlinable
    package mutating func truncate(to count: Int) {
        precondition(count >= 0 && count <= written, "a buffer can only be cut inside its bytes")
        written = count
    }

    /// Gives memory back when more than `limit` bytes are held: one huge event must not be paid for ever.
    package mutating func shrink(to limit: Int) {
        guard room > max(limit, 16), written <= limit else { return }
        reallocate(to: max(limit, 16))
    }

    /// Copies the bytes.
    @inlinable
    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        reserve(bytes.count)
        unsafe (base + written).copyMemory(from: start, byteCount: bytes.count)
        written += bytes.count
    }

    /// Copies the bytes.
    @inlinable
    public mutating func append(_ bytes: RawSpan) { unsafe bytes.withUnsafeBytes { unsafe append($0) } }

    // Inlined, a copy of so many bytes as the literal has is a few moves.
    /// Appends the UTF-8 of a literal.
    @inlinable
    @inline(__always)
    public mutating func append(_ text: StaticString) {
        let count = text.utf8CodeUnitCount
        reserve(count)
        unsafe (base + written).copyMemory(from: text.utf8Start, byteCount: count)
        written += count
    }

    /// The quickest way for one character of ASCII.
    @inlinable
    @inline(__always)
    public mutating func append(byte: UInt8) {
        reserve(1)
        unsafe base.storeBytes(of: byte, toByteOffset: written, as: UInt8.self)
        written += 1
    }

    /// Appends the text's UTF-8 as it is, without quotes or escapes.
    public mutating func append(raw text: String) {
        var text = text
        text.withUTF8 { unsafe append(UnsafeRawBufferPointer($0)) }
    }

    /// Makes room for `more` bytes.
    @inlinable
    public mutating func reserve(_ more: Int) {
        if more > room - written { reallocate(to: max(room * 2, written + more)) }
    }

    @usableFromInline
    mutating func reallocate(to newRoom: Int) {
        let moved = UnsafeMutableRawPointer.allocate(byteCount: newRoom, alignment: 16)
        unsafe moved.copyMemory(from: base, byteCount: written)
        unsafe base.deallocate()
        unsafe base = moved
        room = newRoom
    }
}

extension ByteBuffer {
    /// The bytes as text; what is not UTF-8 shows as U+FFFD.
    public var text: String { unsafe String(decoding: bytes, as: UTF8.self) }
}
