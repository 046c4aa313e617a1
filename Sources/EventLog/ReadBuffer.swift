/// Buffers a part of a file for a reader.
@safe final class ReadBuffer {
    private var memory: UnsafeMutableRawBufferPointer
    private var base: UInt64 = 0
    private var filled = 0

    init() {
        unsafe memory = .allocate(byteCount: 64 << 10, alignment: 16)
    }

    deinit {
        unsafe memory.deallocate()
    }

    /// As many bytes as asked for, or fewer at the end of the file. They are valid until the next call.
    ///
    /// - Parameter ahead: The least number of bytes to have in the buffer after a read from the file. The method reads
    ///   only if the wanted bytes are not in the buffer yet.
    func bytes(_ count: Int, at offset: UInt64, of file: OpenFile, ahead: Int) throws(EventLogError)
        -> UnsafeRawBufferPointer
    {
        if !holds(count, at: offset) { try move(to: offset, of: file, atLeast: max(count, ahead)) }
        let start = Int(offset - base)
        return unsafe UnsafeRawBufferPointer(rebasing: memory[start..<min(start + count, filled)])
    }

    /// Empties the buffer. Call this method before reading another file, or if the file's bytes may have changed.
    func drop() {
        filled = 0
    }

    /// Whether these bytes are in the buffer.
    func holds(_ count: Int, at offset: UInt64) -> Bool {
        offset >= base && offset + UInt64(count) <= base + UInt64(filled)
    }

    private func move(to offset: UInt64, of file: OpenFile, atLeast count: Int) throws(EventLogError) {
        let kept = offset >= base && offset < base + UInt64(filled) ? filled - Int(offset - base) : 0
        let old = unsafe memory
        if unsafe count > memory.count { unsafe memory = .allocate(byteCount: count, alignment: 16) }
        if kept > 0, let source = old.baseAddress {
            unsafe memory.baseAddress?.copyMemory(from: source + (filled - kept), byteCount: kept)
        }
        if unsafe old.baseAddress != memory.baseAddress { unsafe old.deallocate() }
        (base, filled) = (offset, kept)
        let room = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[kept..<count])
        unsafe filled += try file.read(into: room, at: offset + UInt64(kept))
    }
}
