import Dispatch
import EventLog
import Glibc
import HTTPServer
import JSON
import Synchronization
import Time

/// The access log: a line of JSON for each request, without secrets.
///
/// A queue writes the lines, because event loops must not wait for a disk. While 1 MiB of lines waits for the disk,
/// new lines are dropped. These lines, and those that could not be written, are counted: the next line that can be
/// written tells their number. If the file was renamed or removed, a new file is made, so the log can be
/// rotated.
final class AccessLogFile: Sendable {
    private struct Pending: ~Copyable {
        var lines = ByteBuffer()
        var dropped = 0
        /// Whether the queue will write.
        var isScheduled = false
    }

    private struct Output: ~Copyable {
        var file: OpenFile?
        /// Whether the last write stopped within a line.
        var isWithinLine = false
    }

    private let path: String
    private let mode: DataMode
    private let say: @Sendable (String) -> Void
    private let pending = Mutex(Pending())
    /// Only the queue uses the file.
    private let output = Mutex(Output())
    private let queue = DispatchQueue(label: "belfry.api.access-log")

    static let pendingBytesMax = 1 << 20

    /// - Parameter say: Gets a message for the operator at the first of several failed writes in a row.
    init(path: String, mode: DataMode, say: @escaping @Sendable (String) -> Void) {
        (self.path, self.mode, self.say) = (path, mode, say)
        schedule()
    }

    func log(_ entry: AccessLogEntry) {
        let time = Instant.wall()
        let isFirst = pending.withLock { pending in
            if pending.lines.count < Self.pendingBytesMax {
                entry.write(at: time, into: &pending.lines)
            } else {
                pending.dropped += 1
            }
            defer { pending.isScheduled = true }
            return !pending.isScheduled
        }
        if isFirst { schedule() }
    }

    /// Writes the waiting lines and closes the file.
    func close() async {
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                write()
                output.withLock { $0.file = nil }
                continuation.resume()
            }
        }
    }

    private func schedule() { queue.async { [self] in write() } }

    private func write() {
        let (lines, dropped) = pending.withLock { pending in
            defer { pending = Pending() }
            return (Array(pending.lines.bytes), pending.dropped)
        }
        var bytes = lines
        if dropped > 0 {
            let note = ByteBuffer.object {
                $0.append("time", Instant.wall().rfc3339)
                $0.append("dropped", dropped)
            }
            bytes += Array(note.bytes) + [UInt8(ascii: "\n")]
        }
        output.withLock { output in
            let hasFailed = output.file?.hasFailed ?? false
            if output.file?.isStill(at: path) != true { output.file = OpenFile(path, mode) }
            if output.isWithinLine, !bytes.isEmpty {
                guard output.file?.append([UInt8(ascii: "\n")]).failure == nil else { return drop(lines, dropped) }
                output.isWithinLine = false
            }
            guard let (written, failure) = output.file?.append(bytes), let failure else { return }
            output.isWithinLine = written > 0 && bytes[written - 1] != UInt8(ascii: "\n")
            drop(lines.dropFirst(written), dropped)
            if !hasFailed {
                say("the access log \(path) cannot be written: \(failure); requests are served without it")
            }
        }
    }

    /// Counts lines that could not be written, beside `dropped` earlier ones.
    private func drop(_ lines: some Sequence<UInt8>, _ dropped: Int) {
        let count = lines.count { $0 == UInt8(ascii: "\n") }
        pending.withLock { $0.dropped += dropped + count }
    }
}

/// A file that is open for appending, or the reason why it is not.
private struct OpenFile: ~Copyable {
    private let descriptor: CInt
    private var failure: CInt?

    var hasFailed: Bool { failure != nil }

    init(_ path: String, _ mode: DataMode) {
        descriptor = uninterrupted { mode.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC) }
        failure = descriptor < 0 ? errno : nil
    }

    deinit { if descriptor >= 0 { Glibc.close(descriptor) } }

    /// Whether the path still names this file. False after an error, so that the caller opens the path again.
    func isStill(at path: String) -> Bool {
        var (own, current) = (stat(), stat())
        guard failure == nil, fstat(descriptor, &own) == 0, stat(path, &current) == 0 else { return false }
        return (own.st_dev, own.st_ino) == (current.st_dev, current.st_ino)
    }

    /// - Returns: How many bytes are in the file, and why the others are not, in the system's words.
    mutating func append(_ bytes: [UInt8]) -> (written: Int, failure: String?) {
        var written = 0
        while failure == nil, written < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                uninterrupted { Glibc.write(descriptor, bytes.baseAddress! + written, bytes.count - written) }
            }
            if count < 0 { failure = errno } else { written += count }
        }
        return (written, failure.map { String(cString: strerror($0)) })
    }
}

extension AccessLogEntry {
    /// Writes the entry as a line.
    fileprivate func write(at time: Instant, into buffer: inout ByteBuffer) {
        buffer.object { json in
            json.append("time", time.rfc3339)
            json.append("requestID", requestID)
            json.append("client", client)
            json.append("method", method)
            json.append("path", LoggedPath.text(path))
            json.append("status", status)
            json.append("bytes", bodyBytes)
            json.append("microseconds", Int(duration / .microseconds(1)))
            for note in notes { json.append(note.name, note.text) }
            if !isComplete { json.append("isComplete", false) }
        }
        buffer.append("\n")
    }
}
