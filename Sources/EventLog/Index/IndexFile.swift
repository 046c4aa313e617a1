import Glibc

/// One index file. Only the process with the file's lock writes to it.
///
/// Write errors are ignored: the index is a cache, and blocks that are not in the file stay in memory.
struct IndexFile {
    private let header: IndexHeader
    private let digest: UInt64
    private let file: OpenFile
    /// The offset of the next block. Nil if this process must not write, because the file cannot be opened for writing,
    /// another process has the lock, a write has failed, or the file is finished.
    private var end: UInt64?
    private var isLocked: Bool

    /// Opens or makes the index file of a segment; nil if neither is possible.
    init?(_ path: String, _ header: IndexHeader) {
        self.header = header
        digest = header.digest
        if let file = IndexFile.opened(path, O_RDWR | O_CREAT) {
            self.file = file
            isLocked = flock(file.descriptor, LOCK_EX | LOCK_NB) == 0
            end = isLocked ? 0 : nil
        } else if let file = IndexFile.opened(path, O_RDONLY) {
            self.file = file
            (isLocked, end) = (false, nil)
        } else {
            return nil
        }
    }

    private var isWritable: Bool { end != nil }

    /// The blocks from the beginning, up to the first gap or damaged block head. Filters are not checked here. The next
    /// ``append(_:)`` overwrites the bytes after these blocks. If the file has another header, the method returns no
    /// blocks and calls ``restart()``.
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
            let start = position + UInt64(IndexFormat.blockHeadBytes)
            blocks.append(IndexBlock(head: head, filter: .file(file, offset: start)))
            position += UInt64(head.fileBytes)
            (sequence, offset) = (head.nextSequence, head.end)
        }
        if isWritable { end = position }
        return blocks
    }

    /// Removes all blocks.
    mutating func restart() {
        guard isWritable else { return }
        let bytes = header.encoded
        let isDone = ftruncate(file.descriptor, 0) == 0 && write(bytes, at: 0)
        end = isDone ? UInt64(bytes.count) : nil
    }

    /// Writes a block to the file if possible.
    ///
    /// - Returns: The block with its filter in the file, or the unchanged block.
    mutating func append(_ block: IndexBlock) -> IndexBlock {
        guard let end, case .memory(let filter) = block.filter else { return block }
        guard write(block.head.encoded(digest: digest) + filter, at: end) else {
            // A part of a block in the file is harmless: readers detect it.
            self.end = nil
            return block
        }
        self.end = end + UInt64(block.head.fileBytes)
        return IndexBlock(
            head: block.head, filter: .file(file, offset: end + UInt64(IndexFormat.blockHeadBytes)))
    }

    /// Cuts off bytes after the last block, and unlocks the file for other processes.
    mutating func finish() {
        guard isLocked else { return }
        // A failure is harmless: readers ignore the bytes after the last intact block.
        if let end { _ = ftruncate(file.descriptor, off_t(end)) }
        _ = flock(file.descriptor, LOCK_UN)
        (isLocked, end) = (false, nil)
    }

    private func head(at position: UInt64) -> BlockHead? {
        BlockHead(bytes(IndexFormat.blockHeadBytes, at: position), digest: digest)
    }

    private func bytes(_ count: Int, at offset: UInt64) -> [UInt8] {
        do throws(EventLogError) { return try file.bytes(count, at: offset) } catch { return [] }
    }

    private var size: UInt64 {
        do throws(EventLogError) { return try file.size() } catch { return 0 }
    }

    private func write(_ bytes: [UInt8], at offset: UInt64) -> Bool {
        unsafe bytes.withUnsafeBytes { unsafe file.write($0, at: offset, FileCalls.system.write) } == nil
    }

    private static func opened(_ path: String, _ flags: CInt) -> OpenFile? {
        do throws(EventLogError) { return try OpenFile(path, flags) } catch { return nil }
    }
}
