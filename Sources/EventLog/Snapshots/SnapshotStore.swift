import Glibc

/// The snapshots of one log: files in `<log>/snapshots`, each written atomically.
///
/// Snapshots only save time. If the newest snapshot cannot be used, the stage rebuilds the same state from an older
/// snapshot, or from all of its input. Snapshots from the whole history are kept, so that any past state can be rebuilt
/// quickly.
package struct SnapshotStore: Sendable {
    /// The folder of the snapshots.
    package let directory: String
    package var calls = FileCalls()
    /// Slows down reading and writing, because at full speed a large snapshot would delay the small writes of logs.
    package var pace = DiskPace()
    /// Whether ``newest(where:problem:)`` removes damaged snapshots. Only the log's own writer may set this.
    package var removesDamaged = false

    /// - Parameter logDirectory: The log's own folder. It may be made later.
    package init(logDirectory: String) { directory = logDirectory + "/snapshots" }

    /// Writes a snapshot atomically: after a crash the file is whole or missing. Returns when it is durable.
    ///
    /// Only one call may run at a time for each log.
    ///
    /// - Throws: ``EventLogError/full(file:bytesNeeded:errno:)`` and ``EventLogError/failed(operation:file:errno:)``;
    ///   ``EventLogError/syncFailed(file:errno:)`` if the folder is new and cannot be made durable;
    ///   ``EventLogError/tooLarge(_:bytes:bytesMax:)`` if the stage's kind or the cursor is too long. After an error
    ///   there is no new snapshot, with one exception: the last step makes the file's name durable. If only this step
    ///   fails, the snapshot is there, but a power failure may remove it.
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

    /// The snapshot files in the folder, oldest first. Reads only headers: ``newest(where:problem:)`` and ``check(_:)``
    /// also check the states.
    package func list() throws(EventLogError) -> [SnapshotFile] {
        var files: [SnapshotFile] = []
        for name in try names() {
            if let file = try SnapshotFile(ifPresent: directory + "/" + name) { files.append(file) }
        }
        return files
    }

    /// The newest wanted snapshot that can be read; nil if there is no such snapshot.
    ///
    /// - Parameters:
    ///   - isWanted: Returns false to skip a snapshot silently.
    ///   - problem: Called with the file and reason for each snapshot that cannot be read. Snapshots older than the
    ///     result are not read.
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

    /// The newest wanted snapshot that a stage can use; nil if there is no such snapshot.
    ///
    /// - Parameters:
    ///   - isWanted: Returns false to skip a snapshot silently.
    ///   - problem: Called with the reason for each snapshot that cannot be read, or that is wanted but does not fit.
    ///     Snapshots older than the result are not read.
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

    /// Writes a snapshot's file that comes from the log's home, like ``write(_:state:)``.
    ///
    /// - Parameter read: Passes on the parts of the file, in order.
    func fill(
        _ snapshot: HomeSnapshot,
        _ read: (_ take: ([UInt8]) throws(EventLogError) -> Void) throws(EventLogError) -> Void
    ) throws(EventLogError) {
        try LogDirectory(path: directory).create()
        let (draft, path) = (directory + "/" + SnapshotStore.draftName, directory + "/" + snapshot.name)
        do throws(EventLogError) {
            let file = try OpenFile(draft, O_WRONLY | O_CREAT | O_TRUNC)
            var offset: UInt64 = 0
            try read { part throws(EventLogError) in
                let failed = unsafe part.withUnsafeBytes { unsafe file.write($0, at: offset, calls.write) }
                if let failed { throw .failed(operation: "write", file: draft, errno: failed) }
                offset += UInt64(part.count)
            }
            try file.synchronize(calls)
            guard unsafe calls.rename(draft, path) == 0 else { throw .lastFailure("rename", draft) }
            try synchronizeFolder()
        } catch {
            unsafe unlink(draft)
            throw error.orFull(bytesNeeded: Int(snapshot.bytes))
        }
    }

    /// Removes unwanted snapshots, and the unfinished file that a crash may have left.
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
            let failed = pace.runPaced {
                let failed = unsafe start.withUnsafeBytes { unsafe file.write($0, part, at: offset, calls.write) }
                if part.count == DiskPace.partBytes { calls.writeBack(file.descriptor, off_t(offset), part.count) }
                return failed
            }
            if let failed { throw .failed(operation: "write", file: path, errno: failed) }
            offset += UInt64(start.count + part.count)
            unsafe rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(part.count))
        } while unsafe !rest.isEmpty
        guard uninterrupted({ calls.sync(file.descriptor) }) == 0 else {
            throw .failed(operation: "sync", file: path, errno: errno)
        }
    }

    private func synchronizeFolder() throws(EventLogError) {
        let folder = try OpenFile(directory, O_RDONLY | O_DIRECTORY)
        guard uninterrupted({ calls.sync(folder.descriptor) }) == 0 else {
            throw .failed(operation: "sync", file: directory, errno: errno)
        }
    }

    /// Nil if the snapshot is not wanted.
    static func read(_ path: String, _ pace: DiskPace = DiskPace(), where isWanted: (SnapshotHeader) -> Bool)
        throws(SnapshotFault) -> Snapshot?
    {
        let file: OpenFile
        do throws(EventLogError) { file = try OpenFile(path, O_RDONLY) } catch { throw .unreadable("\(error)") }
        let (format, headBytes) = try SnapshotFormat.read(file)
        guard isWanted(format.header) else { return nil }
        let state = try file.pacedBytes(Int(format.stateBytes), at: UInt64(headBytes), pace)
        guard CRC32C.checksum(state[...]) == format.stateCRC else {
            throw SnapshotFault("the CRC does not match the state")
        }
        return Snapshot(path: path, header: format.header, state: state)
    }
}

extension SnapshotFormat {
    /// Reads the bytes before the state, and checks the file's size and name.
    static func read(_ file: OpenFile) throws(SnapshotFault) -> (SnapshotFormat, headBytes: Int) {
        let fixed = try file.pacedBytes(fixedBytes, at: 0)
        let lengths = try unsafe fixed.withBytes { bytes throws(SnapshotFault) in try unsafe Lengths(bytes) }
        let head = try file.pacedBytes(lengths.all, at: 0)
        let format = try unsafe head.withBytes { bytes throws(SnapshotFault) in
            try unsafe SnapshotFormat(bytes, lengths)
        }
        guard try file.sizeOrFault() == UInt64(lengths.all).addingReportingOverflow(format.stateBytes).partialValue
        else {
            throw SnapshotFault("the file's size differs from the size in its header")
        }
        guard file.path.hasSuffix("/" + format.fileName) else {
            throw SnapshotFault("the file's name does not have the sequences of its header")
        }
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
    fileprivate func withBytes<Value>(
        _ body: (UnsafeRawBufferPointer) throws(SnapshotFault) -> Value
    ) throws(SnapshotFault) -> Value {
        let result = unsafe withUnsafeBytes { bytes -> Result<Value, SnapshotFault> in
            do throws(SnapshotFault) { return unsafe .success(try body(bytes)) } catch { return .failure(error) }
        }
        return try result.get()
    }
}

extension OpenFile {
    /// As many bytes as asked for, or fewer at the end of the file.
    fileprivate func pacedBytes(
        _ wanted: Int, at offset: UInt64, _ pace: DiskPace = DiskPace()
    ) throws(SnapshotFault) -> [UInt8] {
        do {
            return try unsafe [UInt8](unsafeUninitializedCapacity: wanted) { buffer, initialized in
                while initialized < wanted {
                    let part = unsafe UnsafeMutableRawBufferPointer(
                        rebasing: UnsafeMutableRawBufferPointer(buffer)[initialized...].prefix(DiskPace.partBytes))
                    let count = try pace.runPaced { () throws(EventLogError) in
                        try unsafe read(into: part, at: offset + UInt64(initialized))
                    }
                    initialized += count
                    guard count == part.count else { break }
                }
            }
        } catch { throw SnapshotFault.unreadable("\(error)") }
    }

    fileprivate func sizeOrFault() throws(SnapshotFault) -> UInt64 {
        do throws(EventLogError) { return try size() } catch { throw .unreadable("\(error)") }
    }
}
