import Glibc

/// An open file. It is closed when this object is deallocated.
final class OpenFile: Sendable {
    let descriptor: CInt
    let path: String

    /// - Parameter flags: The flags of `open`. A new file gets the mode of its folder (``DataMode``).
    init(_ path: String, _ flags: CInt, calls: FileCalls = .system) throws(EventLogError) {
        let descriptor = OpenFile.open(path, flags | O_CLOEXEC, calls)
        guard descriptor >= 0 else { throw .lastFailure("open", path) }
        self.descriptor = descriptor
        self.path = path
    }

    /// Opens a file so that reading does not update its access time. The file system would write that time to its
    /// journal, and appends wait for the journal. So a slow background reader could delay appends.
    private static func open(_ path: String, _ flags: CInt, _ calls: FileCalls) -> CInt {
        if flags & O_ACCMODE == O_RDONLY {
            let file = uninterrupted { unsafe calls.open(path, flags | noAccessTime) }
            // Only the file's owner may use this flag.
            if file >= 0 || errno != EPERM { return file }
        }
        return uninterrupted { unsafe calls.open(path, flags) }
    }

    /// `O_NOATIME` of open(2). The Glibc module lacks it.
    private static let noAccessTime: CInt = 0o1000000

    /// Nil if there is no such file.
    static func ifPresent(_ path: String, _ flags: CInt = O_RDONLY) throws(EventLogError) -> OpenFile? {
        do {
            return try OpenFile(path, flags)
        } catch .failed(_, _, ENOENT) {
            return nil
        }
    }

    deinit {
        close(descriptor)
    }

    func size() throws(EventLogError) -> UInt64 {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw .lastFailure("stat", path) }
        return UInt64(status.st_size)
    }

    /// Reads until the buffer is full or the file ends.
    ///
    /// - Returns: The number of bytes read.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(EventLogError) -> Int {
        var done = 0
        while done < buffer.count {
            let (rest, start) = unsafe (
                UnsafeMutableRawBufferPointer(rebasing: buffer[done...]), off_t(offset) + off_t(done)
            )
            let count = uninterrupted { unsafe pread(descriptor, rest.baseAddress, rest.count, start) }
            guard count >= 0 else { throw .lastFailure("read", path) }
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// As many bytes as asked for, or fewer at the end of the file.
    func bytes(_ count: Int, at offset: UInt64) throws(EventLogError) -> [UInt8] {
        var failure: EventLogError?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            do throws(EventLogError) {
                initialized = try unsafe read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            } catch { failure = error }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Makes contents and metadata durable.
    func synchronize(_ calls: FileCalls = .system) throws(EventLogError) {
        guard uninterrupted({ calls.syncAll(descriptor) }) == 0 else { throw .syncFailed(file: path, errno: errno) }
    }

    /// Writes `head`, then `body`.
    ///
    /// - Returns: Nil on success; otherwise the `errno` of the call that failed. Earlier calls may have written a part.
    func write(
        _ head: UnsafeRawBufferPointer,
        _ body: UnsafeRawBufferPointer = unsafe UnsafeRawBufferPointer(start: nil, count: 0),
        at offset: UInt64, _ call: FileCalls.Write
    ) -> CInt? {
        var done = 0
        while done < head.count + body.count {
            let (first, second) = unsafe (head.after(done), body.after(max(done - head.count, 0)))
            let count = uninterrupted { unsafe write(first, second, at: off_t(offset) + off_t(done), call) }
            guard count > 0 else { return count == 0 ? EIO : errno }
            done += count
        }
        return nil
    }

    /// Makes one call. Leaves out an empty part, because writing one part costs less than writing two.
    private func write(_ first: iovec, _ second: iovec, at offset: off_t, _ call: FileCalls.Write) -> Int {
        unsafe withUnsafeTemporaryAllocation(of: iovec.self, capacity: 2) { parts in
            unsafe (parts[0], parts[1]) = first.iov_len == 0 ? (second, first) : (first, second)
            let count = unsafe first.iov_len == 0 || second.iov_len == 0 ? 1 : 2
            return unsafe parts.baseAddress.map { unsafe call(descriptor, $0, CInt(count), offset) } ?? 0
        }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func after(_ count: Int) -> iovec {
        let rest = unsafe UnsafeRawBufferPointer(rebasing: self[Swift.min(count, self.count)...])
        return unsafe iovec(iov_base: UnsafeMutableRawPointer(mutating: rest.baseAddress), iov_len: rest.count)
    }
}
