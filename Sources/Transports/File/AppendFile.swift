import EventLog
import Glibc
import PipelineKit

/// A file of complete lines. A regular file is locked while it is open: another transport or process that opens it
/// as an `AppendFile` gets an error. Device files and pipes are not locked.
struct AppendFile: ~Copyable {
    private let descriptor: CInt
    private let calls: FileCalls
    /// False for device files and pipes, which cannot be cut back.
    private let isRegular: Bool
    /// The offset from which the bytes of an unfinished or failed write must still be cut off.
    private var tornAt: off_t?

    private init(descriptor: CInt, _ calls: FileCalls) {
        self.descriptor = descriptor
        self.calls = calls
        isRegular = Self.status(of: descriptor).st_mode & S_IFMT == S_IFREG
    }

    /// Opens or makes the file. Cuts off an incomplete last line, which a crash may have left.
    static func open(_ path: String, _ calls: FileCalls) throws(TransportError) -> AppendFile {
        var file = AppendFile(descriptor: try descriptor(of: path, calls.mode), calls)
        guard file.isRegular else { return file }
        guard flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw TransportError("\(path) is written by another transport or process; give each a path of its own")
        }
        do throws(SystemError) {
            try file.cut(to: try file.endOfLastLine())
        } catch {
            throw TransportError("cannot cut an incomplete line off the end of \(path): \(error)")
        }
        return file
    }

    private static func descriptor(of path: String, _ mode: DataMode) throws(TransportError) -> CInt {
        do throws(SystemError) {
            try Folder.make(for: path, mode)
            let opened = uninterrupted { mode.open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC) }
            guard opened >= 0 else { throw .last }
            return opened
        } catch {
            throw .unwritable(path, error)
        }
    }

    /// Unlocks the file explicitly. Closing it is not enough: a new child process shares our descriptors, and with them
    /// the lock, until it runs its own program.
    deinit {
        if isRegular { _ = flock(descriptor, LOCK_UN) }
        close(descriptor)
    }

    /// Appends all lines or nothing. A device file or a pipe, which cannot be cut back, may get a part of the lines.
    ///
    /// - Returns: Why the lines were not appended; nil after success.
    mutating func append(_ lines: UnsafeRawBufferPointer) -> SystemError? {
        do throws(SystemError) {
            if let tornAt { try cut(to: tornAt) }
            let end = Self.status(of: descriptor).st_size
            if isRegular { tornAt = end }
            try calls.writeAll(lines, to: descriptor)
            tornAt = nil
            return nil
        } catch {
            cutBack()
            return error
        }
    }

    func synchronize() { _ = uninterrupted { fsync(descriptor) } }

    /// Cuts off the bytes that a failed write left. If that fails too, ``append(_:)`` tries again before the next
    /// lines.
    private mutating func cutBack() {
        guard let end = tornAt else { return }
        if uninterrupted({ calls.truncate(descriptor, end) }) == 0 { tornAt = nil }
    }

    private mutating func cut(to end: off_t) throws(SystemError) {
        guard uninterrupted({ calls.truncate(descriptor, end) }) == 0 else { throw .last }
        tornAt = nil
    }

    private static func status(of descriptor: CInt) -> stat {
        var status = stat()
        fstat(descriptor, &status)
        return status
    }

    /// The offset after the last line feed; 0 if the file has none.
    private func endOfLastLine() throws(SystemError) -> off_t {
        var block = [UInt8](repeating: 0, count: 64 << 10)
        var end = Self.status(of: descriptor).st_size
        while end > 0 {
            let start = max(0, end - off_t(block.count))
            let count = uninterrupted { pread(descriptor, &block, Int(end - start), start) }
            guard count == Int(end - start) else { throw count < 0 ? .last : SystemError(code: EIO) }
            if let index = block[..<count].lastIndex(of: UInt8(ascii: "\n")) { return start + off_t(index) + 1 }
            end = start
        }
        return 0
    }
}
