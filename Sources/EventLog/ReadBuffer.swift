/// A window on a file that moves with its reader.
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

    /// The file's bytes from an offset on: as many as asked for, or fewer where the file ends. Valid until the next
    /// call.
    ///
    /// - Parameter ahead: How much to read at once where the window must move.
    func bytes(_ count: Int, at offset: UInt64, of file: OpenFile, ahead: Int) throws(EventLogError)
        -> UnsafeRawBufferPointer
    {
        if !holds(count, at: offset) { try move(to: offset, of: file, atLeast: max(count, ahead)) }
        let start = Int(offset - base)
        return unsafe UnsafeRawBufferPointer(rebasing: memory[start..<min(start + count, filled)])
    }

    /// Forgets what was read, because the file may have changed since.
    func drop() {
        filled = 0
    }

    /// Whether so many bytes were read already.
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
