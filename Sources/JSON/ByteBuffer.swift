/// A growing buffer of bytes that is never copied implicitly.
///
/// The hot path writes whole batches of events into one buffer. `[UInt8]` would check for unique references on every
/// append. Never append the buffer's own bytes: growing moves them.
@safe public struct ByteBuffer: ~Copyable {
    @usableFromInline var base: UnsafeMutableRawPointer
    @usableFromInline var written: Int
    @usableFromInline var capacity: Int

    /// - Parameter capacity: The number of bytes that fit into the buffer before it grows. Less than 16 counts as 16.
    public init(capacity: Int = 256) {
        self.capacity = max(capacity, 16)
        unsafe base = .allocate(byteCount: self.capacity, alignment: 16)
        written = 0
    }

    deinit { unsafe base.deallocate() }

    /// The number of bytes in the buffer.
    @inlinable public var count: Int { written }
    /// Whether the buffer has no bytes.
    @inlinable public var isEmpty: Bool { written == 0 }

    /// All bytes of the buffer. The result is valid until the buffer changes.
    @inlinable package var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: base, count: written) }

    /// Removes all bytes and keeps the memory.
    @inlinable package mutating func removeAll() { written = 0 }

    /// Removes all bytes from `count` on.
    @inlinable
    package mutating func truncate(to count: Int) {
        precondition(count >= 0 && count <= written, "cannot cut a buffer of \(written) bytes to \(count)")
        written = count
    }

    /// Reduces the capacity to `limit` bytes, so that one huge event does not occupy memory permanently. Does nothing
    /// if ``count`` is higher than `limit`.
    package mutating func shrink(to limit: Int) {
        guard capacity > max(limit, 16), written <= limit else { return }
        reallocate(to: max(limit, 16))
    }

    @inlinable
    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        reserve(bytes.count)
        unsafe (base + written).copyMemory(from: start, byteCount: bytes.count)
        written += bytes.count
    }

    /// Appends a copy of the bytes.
    @inlinable
    public mutating func append(_ bytes: RawSpan) { unsafe bytes.withUnsafeBytes { unsafe append($0) } }

    // Inlining turns the copy of a literal into a few instructions.
    /// Appends the UTF-8 of a literal.
    @inlinable
    @inline(__always)
    public mutating func append(_ text: StaticString) {
        let count = text.utf8CodeUnitCount
        reserve(count)
        unsafe (base + written).copyMemory(from: text.utf8Start, byteCount: count)
        written += count
    }

    /// Appends one byte, such as an ASCII character.
    @inlinable
    @inline(__always)
    public mutating func append(byte: UInt8) {
        reserve(1)
        put(byte)
    }

    /// Appends the text's UTF-8 without quotes or escapes.
    public mutating func append(raw text: String) {
        var text = text
        text.withUTF8 { unsafe append(UnsafeRawBufferPointer($0)) }
    }

    /// Ensures that `more` bytes can be appended without growing.
    @inlinable
    public mutating func reserve(_ more: Int) {
        if more > capacity - written { reallocate(to: max(capacity * 2, written + more)) }
    }

    @usableFromInline
    mutating func reallocate(to newCapacity: Int) {
        let moved = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 16)
        unsafe moved.copyMemory(from: base, byteCount: written)
        unsafe base.deallocate()
        unsafe base = moved
        capacity = newCapacity
    }
}

extension ByteBuffer {
    /// The bytes as text; invalid UTF-8 becomes U+FFFD.
    public var text: String { unsafe String(decoding: bytes, as: UTF8.self) }
}
