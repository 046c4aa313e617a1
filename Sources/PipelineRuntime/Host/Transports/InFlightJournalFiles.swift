import EventLog
import Glibc
import Time

/// The two files of an ``InFlightJournalRecord``, written in turn. If one file is torn, the other has the previous
/// record.
final class InFlightJournalFiles {
    /// File names in the folder of the stage's log.
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

    /// The last record that is intact; nil if no record was ever written. ``InFlightJournalRecord/Reading/torn`` if
    /// records were written but none is intact. ``InFlightJournalRecord/Reading/foreign`` if one of the files cannot be
    /// read, is of another log or has an unknown format, even if the other file is intact.
    func read() -> InFlightJournalRecord.Reading? {
        let found = Self.names.compactMap { read("\(folder)/\($0)") }
        if found.contains(.foreign) { return .foreign }
        let records = found.compactMap { if case .record(let record) = $0 { record } else { nil } }
        guard let last = records.max(by: { $0.generation < $1.generation }) else { return found.first }
        generation = last.generation
        return .record(last)
    }

    func read(_ path: String) -> InFlightJournalRecord.Reading? {
        do throws(AtomicTextFileError) {
            // If the file is empty, no record was ever written to it.
            guard let bytes = try AtomicTextFile.readBytes(path), !bytes.isEmpty else { return nil }
            return InFlightJournalRecord.read([UInt64](words: bytes), for: log)
        } catch { return .foreign }
    }

    // MARK: Writing

    /// Overwrites the older record. The first record of a host is written to both files and forced to the disk.
    ///
    /// - Throws: ``EventLogError/failed(operation:file:errno:)`` or ``EventLogError/syncFailed(file:errno:)``. Then the
    ///   last record that was written whole still counts.
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

    func synchronize() throws(EventLogError) {
        guard !files.isEmpty else { return }
        guard uninterrupted({ calls.sync(files[fileIndex]) }) == 0 else {
            throw .syncFailed(file: "\(folder)/\(Self.names[fileIndex])", errno: errno)
        }
    }

    private var fileIndex: Int { Int(generation & 1) }

    private func put(_ record: InFlightJournalRecord) throws(EventLogError) {
        var record = record
        record.generation = generation + 1
        record.write(for: log, into: &words)
        let fileIndex = Int(record.generation & 1)
        if let code = words.withUnsafeBytes({ calls.writeAll($0, to: files[fileIndex]) }) {
            throw .failed(operation: "write", file: "\(folder)/\(Self.names[fileIndex])", errno: code)
        }
        generation = record.generation
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
