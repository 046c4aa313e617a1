import Glibc

extension LogManifest {
    /// The manifest, or what it must have been, with what is wrong with it.
    ///
    /// A log's batches hold only a mark of its identity. The identity itself also stands in the `upstream.json` of logs
    /// that were made from this one, and a log of dead letters has one that follows from its stage's.
    ///
    /// - Throws: ``EventLogError/damaged(file:offset:sequence:reason:)`` where it is found nowhere.
    static func readOrDerived(in log: LogDirectory) throws(EventLogError) -> (LogManifest, wrong: String?) {
        let (folder, name) = LogDirectory.split(log.path)
        let wrong: String
        do throws(EventLogError) {
            if let manifest = try LogManifest.read(in: log) {
                if manifest.name == name { return (manifest, nil) }
                wrong = "log.json names log '\(manifest.name)'"
            } else {
                wrong = "log.json is missing"
            }
        } catch .damaged {
            wrong = "log.json is not what was written"
        }
        guard let mark = try log.mark(), let identity = try candidates(name, folder).first(where: { $0.mark == mark })
        else {
            let reason = "\(wrong), and no other log in \(folder) knows its identity: restore it from a copy"
            throw .damaged(file: log.manifestPath, offset: 0, sequence: 1, reason: reason)
        }
        return (LogManifest(name: name, identity: identity), wrong)
    }

    private static func candidates(_ name: String, _ folder: String) throws(EventLogError) -> [LogIdentity] {
        var identities: [LogIdentity] = []
        for sibling in try LogDirectory.entries(of: folder).sorted() {
            let directory = folder + "/" + sibling
            do throws(EventLogError) {
                if let note = try UpstreamNote.read(directory: directory), note.log == name {
                    identities.append(note.identity)
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
    /// The mark of the identity in the first header that is right; nil where there is none.
    fileprivate func mark() throws(EventLogError) -> UInt64? {
        for first in try segments() {
            let file = try OpenFile(segmentPath(first), O_RDONLY)
            let room = UnsafeMutableRawBufferPointer.allocate(byteCount: BatchFormat.headerBytes, alignment: 8)
            defer { room.deallocate() }
            guard try file.read(into: room, at: 0) == BatchFormat.headerBytes else { continue }
            if case .header(let header) = FixedHeader.decode(UnsafeRawBufferPointer(room)) { return header.identity }
        }
        return nil
    }
}
