import EventLog
import Glibc
import Time

/// The two files that hold an ``InFlightJournalRecord``, written in turn: where one is torn, what it was to say had not begun.
final class InFlightJournalFiles {
    /// Their names in the folder of the stage's log.
    static let names = ["under-way.0", "under-way.1"]

    private let folder: String
    private let log: LogIdentity
    private let calls: FileCalls
    private var files: [CInt] = []
    private var generation: UInt64 = 0
    private var words: [UInt64] = []

    init(logDirectory: String, of log: LogIdentity, calls: FileCalls) {
        (folder, self.log, self.calls) = (logDirectory, log, calls)
    }

    deinit { for file in files { close(file) } }

    /// The later record; nil where nothing was ever written. ``InFlightJournalRecord/Reading/torn`` where there was, and none
    /// is whole.
    func read() -> InFlightJournalRecord.Reading? {
        let found = Self.names.compactMap { read("\(folder)/\($0)") }
        if found.contains(.foreign) { return .foreign }
        let records = found.compactMap { if case .record(let record) = $0 { record } else { nil } }
        guard let last = records.max(by: { $0.generation < $1.generation }) else { return found.first }
        generation = last.generation
        return .record(last)
    }

    func read(_ path: String) -> InFlightJournalRecord.Reading? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return errno == ENOENT ? nil : .foreign }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { return .foreign }
        // What was never written to has nothing to say.
        guard status.st_size > 0 else { return nil }
        var words = [UInt64](repeating: 0, count: (Int(status.st_size) + 7) / 8)
        let count = words.withUnsafeMutableBytes { Self.fill($0, from: file) }
        guard let count else { return .foreign }
        words.removeLast(words.count - count / 8)
        return InFlightJournalRecord.read(words, for: log)
    }

    private static func fill(_ buffer: UnsafeMutableRawBufferPointer, from file: CInt) -> Int? {
        var done = 0
        while done < buffer.count {
            let count = uninterrupted {
                pread(file, buffer.baseAddress.map { $0 + done }, buffer.count - done, off_t(done))
            }
            guard count >= 0 else { return nil }
            if count == 0 { break }
            done += count
        }
        return done
    }

    // MARK: Writing

    /// Takes the place of the record before the last. The first one of a process takes both places, and is on the disk.
    ///
    /// - Throws: ``EventLogError/failed(operation:file:errno:)``; the last record still counts.
    func write(_ record: InFlightJournalRecord) throws(EventLogError) {
        guard files.isEmpty else { return try put(record) }
        do throws(EventLogError) {
            for name in Self.names { files.append(try opened("\(folder)/\(name)", O_RDWR | O_CREAT)) }
            for _ in files {
                try put(record)
                try synchronize()
            }
            try synchronizeFolder()
        } catch {
            for file in files { close(file) }
            files = []
            throw error
        }
    }

    /// Forces the last record to the disk.
    func synchronize() throws(EventLogError) {
        guard !files.isEmpty else { return }
        guard uninterrupted({ calls.sync(files[place]) }) == 0 else {
            throw .syncFailed(file: "\(folder)/\(Self.names[place])", errno: errno)
        }
    }

    /// Where the last record is.
    private var place: Int { Int(generation & 1) }

    private func put(_ record: InFlightJournalRecord) throws(EventLogError) {
        var record = record
        record.generation = generation + 1
        record.write(for: log, into: &words)
        let place = Int(record.generation & 1)
        if let code = words.withUnsafeBytes({ write($0, to: files[place]) }) {
            throw .failed(operation: "write", file: "\(folder)/\(Self.names[place])", errno: code)
        }
        generation = record.generation
    }

    /// - Returns: Nil, or the code of what failed with part of it written.
    private func write(_ bytes: UnsafeRawBufferPointer, to file: CInt) -> CInt? {
        var done = 0
        while done < bytes.count {
            let start = UnsafeMutableRawPointer(mutating: bytes.baseAddress.map { $0 + done })
            var part = iovec(iov_base: start, iov_len: bytes.count - done)
            let count = uninterrupted { calls.write(file, &part, 1, off_t(done)) }
            guard count > 0 else { return count == 0 ? EIO : errno }
            done += count
        }
        return nil
    }

    private func opened(_ path: String, _ flags: CInt) throws(EventLogError) -> CInt {
        let file = uninterrupted { calls.open(path, flags | O_CLOEXEC) }
        guard file >= 0 else { throw .failed(operation: "open", file: path, errno: errno) }
        return file
    }

    private func synchronizeFolder() throws(EventLogError) {
        let file = try opened(folder, O_RDONLY | O_DIRECTORY)
        defer { close(file) }
        guard uninterrupted({ calls.syncAll(file) }) == 0 else { throw .syncFailed(file: folder, errno: errno) }
    }
}
