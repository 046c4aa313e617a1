import Glibc
import Time

extension LogManifest {
    /// The manifest, or what it must have been, with what is wrong with it.
    ///
    /// A log's batches hold only a mark of its identity. The identity itself also stands in the `upstream.json` of logs
    /// that were made from this one, and a log of dead letters has one that follows from its stage's.
    ///
    /// - Throws: ``EventLogError/damaged(file:offset:sequence:reason:)`` where it is found nowhere.
    static func readOrDerived(in log: LogDirectory) throws(EventLogError) -> (LogManifest, wrong: String?) {
        let (folder, name) = LogDirectory.split(log.path)
        let marks = try log.marks()
        let wrong: String
        do throws(EventLogError) {
            if let manifest = try LogManifest.read(in: log) {
                let isTheirs = marks.isEmpty || marks.contains(manifest.identity.mark)
                if manifest.name == name, isTheirs { return (manifest, nil) }
                wrong = isTheirs ? "log.json names log '\(manifest.name)'" : otherIdentity(manifest)
            } else {
                wrong = "log.json is missing"
            }
        } catch .damaged {
            wrong = "log.json is not what was written"
        }
        guard marks.count == 1, let mark = marks.first,
            let identity = try candidates(name, folder).first(where: { $0.mark == mark })
        else {
            let found =
                marks.count > 1 ? "the segments are of \(marks.count) logs" : "nothing else there knows its identity"
            let reason = "\(wrong), and \(found): restore it from a copy"
            throw .damaged(file: log.manifestPath, offset: 0, sequence: 1, reason: reason)
        }
        return (LogManifest(name: name, identity: identity), wrong)
    }

    /// Said of one whose identity none of the segments has.
    static func otherIdentity(_ manifest: LogManifest) -> String {
        "log.json gives the identity \(manifest.identity), and the segments are of another"
    }

    private static func candidates(_ name: String, _ folder: String) throws(EventLogError) -> [LogIdentity] {
        var identities = try LogDirectory(path: folder + "/" + name).identitiesBeside()
        for sibling in try LogDirectory.entries(of: folder).sorted() {
            let directory = folder + "/" + sibling
            do throws(EventLogError) {
                if let note = try UpstreamNote.read(directory: directory), note.log == name {
                    identities.append(note.identity)
                    identities += try SnapshotStore(logDirectory: directory).list().compactMap { $0.header?.upstream }
                }
                if let stage = try LogManifest.read(in: LogDirectory(path: directory)) {
                    // A log that is itself right but lies in a folder of another name.
                    if sibling == name { identities.append(stage.identity) }
                    identities.append(LogIdentity(seed: stage.identity.description, name: name))
                }
            } catch { continue }
        }
        return identities
    }
}

extension LogDirectory {
    /// The marks of the identities in the first headers of all segments, those that are right.
    func marks() throws(EventLogError) -> Set<UInt64> {
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: BatchFormat.headerBytes, alignment: 8)
        defer { unsafe room.deallocate() }
        var marks: Set<UInt64> = []
        for first in try segments() {
            guard let file = try OpenFile.ifPresent(segmentPath(first)),
                try unsafe file.read(into: room, at: 0) == BatchFormat.headerBytes
            else { continue }
            if case .header(let header) = unsafe FixedHeader.decode(UnsafeRawBufferPointer(room)) {
                marks.insert(header.identity)
            }
        }
        return marks
    }

    /// The identities in what is made from the log and lies beside it: snapshots and index files.
    fileprivate func identitiesBeside() throws(EventLogError) -> [LogIdentity] {
        // Not `\.header?.log`: for such a key path Swift 6.3's library reads a byte past the value (`optionalWrap`), for
        // which the address sanitizer ends the process.
        var identities = try SnapshotStore(logDirectory: path).list().compactMap { $0.header?.log }
        let folder = "\(path)/\(IndexFormat.folder)"
        for name in try LogDirectory.entries(of: folder).sorted() {
            guard let file = try OpenFile.ifPresent("\(folder)/\(name)") else { continue }
            if let identity = try IndexHeader.identity(of: file) { identities.append(identity) }
        }
        return identities
    }
}
