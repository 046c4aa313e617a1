import Glibc

/// The snapshots of one log: files in `<log>/snapshots`, each written whole or not at all.
///
/// Snapshots only save time: a stage whose snapshots are lost, damaged, stale or another's makes its state anew from
/// an older one or from all of its input, and comes to the same. Several are kept over the log's history, so that a
/// moment in the past has one near.
package struct SnapshotStore: Sendable {
    /// The folder of the snapshots.
    package let directory: String
    package var calls = FileCalls()
    /// How it reads and writes large files: at full speed it would hold up the small writes of others.
    package var pace = DiskPace()
    /// Whether ``newest(where:problem:)`` removes those that are damaged once it has told of them: for a log's own
    /// writer, which takes others.
    package var removesDamaged = false

    /// - Parameter logDirectory: The log's own folder. Nothing in it need exist yet.
    package init(logDirectory: String) { directory = logDirectory + "/snapshots" }

    /// Writes a snapshot: after a crash at any moment all of it is there, or none is, and the older ones are untouched.
    ///
    /// Returns once it is durable. One at a time for each log.
    ///
    /// - Throws: ``EventLogError/full(file:bytesNeeded:errno:)`` and ``EventLogError/failed(operation:file:errno:)``
    ///   with nothing written.
    @discardableResult
    package func write(_ header: SnapshotHeader, state: UnsafeRawBufferPointer) throws(EventLogError) -> SnapshotFile {
        let format = unsafe SnapshotFormat(
            header: header, stateBytes: UInt64(state.count), stateCRC: CRC32C.checksum(state))
        let head = try format.encoded()
        try LogDirectory(path: directory).create()
        let (draft, path) = (directory + "/" + SnapshotStore.draftName, directory + "/" + format.fileName)
        do throws(EventLogError) {
            try unsafe write(head, state, to: draft)
            guard unsafe calls.rename(draft, path) == 0 else { throw .lastFailure("rename", draft) }
            try synchronizeFolder()
        } catch {
            unsafe unlink(draft)
            throw error.orFull(bytesNeeded: head.count + state.count)
        }
        return SnapshotFile(path: path, bytes: UInt64(head.count + state.count), header: header, problem: nil)
    }

    /// What lies in the folder, oldest first. Reads headers alone: only ``newest(where:problem:)`` and ``check(_:)``
    /// see whether a state is what was written.
    package func list() throws(EventLogError) -> [SnapshotFile] {
        var files: [SnapshotFile] = []
        for name in try names() {
            if let file = try SnapshotFile(ifPresent: directory + "/" + name) { files.append(file) }
        }
        return files
    }

    /// The newest snapshot that is whole and as wanted.
    ///
    /// - Parameters:
    ///   - isWanted: What it does not want is passed over without a word.
    ///   - problem: Told of each damaged one that was passed over, by file and reason.
    package func newest(where isWanted: (SnapshotHeader) -> Bool, problem: (String) -> Void) throws(EventLogError)
        -> Snapshot?
    {
        for name in try names().reversed() {
            let path = directory + "/" + name
            do throws(SnapshotFault) {
                if let snapshot = try SnapshotStore.read(path, pace, where: isWanted) { return snapshot }
            } catch {
                let isRemoved = unsafe removesDamaged && error.isDamage && calls.unlink(path) == 0
                problem("\(path): \(error.reason)\(isRemoved ? "; removed" : "")")
            }
        }
        return nil
    }

    /// The newest snapshot that a stage can take over; all that are passed over are told of, with the reason.
    ///
    /// - Parameter isWanted: What it does not want is passed over without a word.
    package func newest(
        fitting fit: SnapshotFit, where isWanted: (SnapshotHeader) -> Bool = { _ in true }, problem: (String) -> Void
    ) throws(EventLogError) -> Snapshot? {
        var objections: [String] = []
        let snapshot = try newest(
            where: { header in
                guard isWanted(header) else { return false }
                guard let objection = fit.objection(to: header) else { return true }
                objections.append("\(directory), snapshot at sequence \(header.sequence): \(objection)")
                return false
            }, problem: { objections.append($0) })
        objections.forEach(problem)
        return snapshot
    }

    /// Removes the snapshots that are not wanted any more, and what a crash left unfinished.
    package func remove(where isUnwanted: (SnapshotFile) -> Bool) throws(EventLogError) {
        for file in try list() where isUnwanted(file) { try remove(file) }
        unsafe unlink(directory + "/" + SnapshotStore.draftName)
    }
}

extension SnapshotStore {
    private static let draftName = "unfinished"

    func remove(_ file: SnapshotFile) throws(EventLogError) {
        guard unsafe unlink(file.path) == 0 || errno == ENOENT else { throw .lastFailure("remove", file.path) }
    }

    private func names() throws(EventLogError) -> [String] {
        try LogDirectory.entries(of: directory).filter { $0.hasSuffix(SnapshotFormat.suffix) }.sorted()
    }

    private func write(_ head: [UInt8], _ state: UnsafeRawBufferPointer, to path: String) throws(EventLogError) {
        let file = try OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC)
        var (rest, offset) = unsafe (state, UInt64(0))
        repeat {
            let part = unsafe UnsafeRawBufferPointer(rebasing: rest.prefix(DiskPace.partBytes))
            let start = offset == 0 ? head : []
            let failed = pace.keep {
                let failed = unsafe start.withUnsafeBytes { unsafe file.write($0, part, at: offset, calls.write) }
                if part.count == DiskPace.partBytes { calls.writeBack(file.descriptor, off_t(offset), part.count) }
                return failed
            }
            if let failed { throw .failed(operation: "write", file: path, errno: failed) }
            offset += UInt64(start.count + part.count)
            unsafe rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(part.count))
        } while unsafe !rest.isEmpty
        guard uninterrupted({ calls.sync(file.descriptor) }) == 0 else {
            throw .failed(operation: "make durable", file: path, errno: errno)
        }
    }

    private func synchronizeFolder() throws(EventLogError) {
        let folder = try OpenFile(directory, O_RDONLY | O_DIRECTORY)
        guard uninterrupted({ calls.sync(folder.descriptor) }) == 0 else {
            throw .failed(operation: "make durable", file: directory, errno: errno)
        }
    }

    /// Nil where it is not wanted.
    static func read(_ path: String, _ pace: DiskPace = DiskPace(), where isWanted: (SnapshotHeader) -> Bool)
        throws(SnapshotFault) -> Snapshot?
    {
        let file: OpenFile
        do throws(EventLogError) { file = try OpenFile(path, O_RDONLY) } catch { throw .unreadable("\(error)") }
        let (format, headBytes) = try SnapshotFormat.read(file)
        guard isWanted(format.header) else { return nil }
        let state = try file.bytes(Int(format.stateBytes), at: UInt64(headBytes), pace)
        guard unsafe state.withUnsafeBytes({ unsafe CRC32C.checksum($0) }) == format.stateCRC else {
            throw SnapshotFault("CRC of the state differs")
        }
        return Snapshot(path: path, header: format.header, state: state)
    }
}

extension SnapshotFormat {
    /// Reads what stands before the state, and checks that the file is as long as it says and named after it.
    static func read(_ file: OpenFile) throws(SnapshotFault) -> (SnapshotFormat, headBytes: Int) {
        let fixed = try file.bytes(fixedBytes, at: 0)
        let lengths = try unsafe fixed.fault { bytes throws(SnapshotFault) in try unsafe Lengths(bytes) }
        let head = try file.bytes(lengths.all, at: 0)
        let format = try unsafe head.fault { bytes throws(SnapshotFault) in try unsafe SnapshotFormat(bytes, lengths) }
        guard try file.faultingSize() == UInt64(lengths.all).addingReportingOverflow(format.stateBytes).partialValue
        else {
            throw SnapshotFault("the file is not as long as it says")
        }
        guard file.path.hasSuffix("/" + format.fileName) else { throw SnapshotFault("it is named after another") }
        return (format, lengths.all)
    }
}

extension SnapshotFile {
    fileprivate init?(ifPresent path: String) throws(EventLogError) {
        guard let file = try OpenFile.ifPresent(path) else { return nil }
        self.path = path
        bytes = try file.size()
        do throws(SnapshotFault) { header = try SnapshotFormat.read(file).0.header } catch { problem = error.reason }
    }
}

extension [UInt8] {
    fileprivate func fault<Value>(
        _ body: (UnsafeRawBufferPointer) throws(SnapshotFault) -> Value
    ) throws(SnapshotFault) -> Value {
        let result = unsafe withUnsafeBytes { bytes -> Result<Value, SnapshotFault> in
            do throws(SnapshotFault) { return unsafe .success(try body(bytes)) } catch { return .failure(error) }
        }
        return try result.get()
    }
}

extension OpenFile {
    /// So many bytes, or fewer where the file ends.
    fileprivate func bytes(_ wanted: Int, at offset: UInt64, _ pace: DiskPace = DiskPace()) throws(SnapshotFault)
        -> [UInt8]
    {
        do {
            return try unsafe [UInt8](unsafeUninitializedCapacity: wanted) { buffer, initialized in
                while initialized < wanted {
                    let part = unsafe UnsafeMutableRawBufferPointer(
                        rebasing: UnsafeMutableRawBufferPointer(buffer)[initialized...].prefix(DiskPace.partBytes))
                    let count = try pace.keep { () throws(EventLogError) in
                        try unsafe read(into: part, at: offset + UInt64(initialized))
                    }
                    initialized += count
                    guard count == part.count else { break }
                }
            }
        } catch { throw SnapshotFault.unreadable("\(error)") }
    }

    fileprivate func faultingSize() throws(SnapshotFault) -> UInt64 {
        do throws(EventLogError) { return try size() } catch { throw .unreadable("\(error)") }
    }
}
