import Glibc

/// One index file: read by whoever can, written by whoever holds its lock.
///
/// What fails while writing is no error: the index is a cache, and what is not in the file stays in memory.
struct IndexFile {
    let header: IndexHeader
    let mark: UInt64
    private let file: OpenFile
    /// Where the next block goes; nil where this process may not write.
    private var end: UInt64?

    /// Opens or makes the file of a segment; nil where there is none and none can be made.
    init?(_ path: String, _ header: IndexHeader) {
        self.header = header
        mark = header.mark
        if let file = IndexFile.opened(path, O_RDWR | O_CREAT) {
            self.file = file
            end = flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 ? 0 : nil
        } else if let file = IndexFile.opened(path, O_RDONLY) {
            self.file = file
            end = nil
        } else {
            return nil
        }
    }

    var isWritable: Bool { end != nil }

    /// The blocks that are right in themselves and follow on each other, from the first. What comes behind them is
    /// cut off by the next ``append(_:)``.
    mutating func blocks(first: UInt64) -> [IndexBlock] {
        var blocks: [IndexBlock] = []
        let size = size
        var position = UInt64(IndexFormat.headerBytes)
        guard bytes(IndexFormat.headerBytes, at: 0) == header.encoded else {
            restart()
            return []
        }
        var (sequence, offset) = (first, UInt64(0))
        while let head = head(at: position), head.firstSequence == sequence, head.offset == offset,
            position + UInt64(head.fileBytes) <= size
        {
            let start = position + UInt64(IndexFormat.headBytes)
            blocks.append(IndexBlock(head: head, filter: .file(file, offset: start)))
            position += UInt64(head.fileBytes)
            (sequence, offset) = (head.nextSequence, head.end)
        }
        if isWritable { end = position }
        return blocks
    }

    /// Throws away all blocks.
    mutating func restart() {
        guard isWritable else { return }
        let bytes = header.encoded
        let isDone = ftruncate(file.descriptor, 0) == 0 && write(bytes, at: 0)
        end = isDone ? UInt64(bytes.count) : nil
    }

    /// The block as it is from now on: in the file where that is possible.
    mutating func append(_ block: IndexBlock) -> IndexBlock {
        guard let end, case .memory(let filter) = block.filter else { return block }
        guard write(block.head.encoded(mark: mark) + filter, at: end) else {
            // What was written in part is no right block, so nobody takes it for one.
            self.end = nil
            return block
        }
        self.end = end + UInt64(block.head.fileBytes)
        return IndexBlock(
            head: block.head, filter: .file(file, offset: end + UInt64(IndexFormat.headBytes)))
    }

    /// Cuts off what stands behind the last block, and lets others write.
    mutating func finish() {
        guard let end else { return }
        // Left behind it would be passed over: it is not right.
        _ = ftruncate(file.descriptor, off_t(end))
        _ = flock(file.descriptor, LOCK_UN)
        self.end = nil
    }

    private func head(at position: UInt64) -> BlockHead? {
        unsafe bytes(IndexFormat.headBytes, at: position).withUnsafeBytes { unsafe BlockHead($0, mark: mark) }
    }

    private func bytes(_ count: Int, at offset: UInt64) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            do throws(EventLogError) {
                filled = try unsafe file.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            } catch {
                filled = 0
            }
        }
    }

    private var size: UInt64 {
        do throws(EventLogError) { return try file.size() } catch { return 0 }
    }

    private func write(_ bytes: [UInt8], at offset: UInt64) -> Bool {
        var done = 0
        while done < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[done...])
                return uninterrupted {
                    unsafe pwrite(file.descriptor, rest.baseAddress, rest.count, off_t(offset) + done)
                }
            }
            guard count > 0 else { return false }
            done += count
        }
        return true
    }

    private static func opened(_ path: String, _ flags: CInt) -> OpenFile? {
        do throws(EventLogError) { return try OpenFile(path, flags) } catch { return nil }
    }
}
