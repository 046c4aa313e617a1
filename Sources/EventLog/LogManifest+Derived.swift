import Glibc
import Time

extension LogManifest {
    /// Reads the manifest, or derives it from other files if it is missing or wrong.
    ///
    /// A log's batches hold only a digest of its identity. The whole identity is also in the log's snapshots and index,
    /// and in the `upstream.json` and the snapshots of downstream logs. The identity of a log of dead letters can be
    /// computed from the identity of its stage's log.
    ///
    /// - Returns: The manifest. `wrong` says what was wrong with `log.json`, and is nil if the file was right.
    /// - Throws: ``EventLogError/damaged(file:offset:sequence:reason:)`` if `log.json` is missing or wrong, and cannot
    ///   be derived: no file has the identity of the segments, no segment has an intact first header, or the segments
    ///   belong to several logs. ``EventLogError/unsupportedFormat(file:version:)`` if `log.json` has another format.
    static func readOrDerived(in log: LogDirectory) throws(EventLogError) -> (LogManifest, wrong: String?) {
        let (folder, name) = LogDirectory.split(log.path)
        let digests = try log.digests()
        let wrong: String
        do throws(EventLogError) {
            if let manifest = try LogManifest.read(in: log) {
                let identityFits = digests.isEmpty || digests.contains(manifest.identity.digest)
                if manifest.name == name, identityFits { return (manifest, nil) }
                wrong = identityFits ? "log.json names log '\(manifest.name)'" : otherIdentityReason(manifest)
            } else {
                wrong = "log.json is missing"
            }
        } catch .damaged {
            wrong = "log.json is damaged"
        }
        guard digests.count == 1, let digest = digests.first,
            let identity = try candidates(name, folder).first(where: { $0.digest == digest })
        else {
            let found =
                digests.count > 1
                ? "the segments belong to \(digests.count) logs"
                : "no file of this log or of the logs beside it holds an identity that fits the segments"
            let reason = "\(wrong), and \(found): restore log.json from a copy"
            throw .damaged(file: log.manifestPath, offset: 0, sequence: 1, reason: reason)
        }
        return (LogManifest(name: name, identity: identity), wrong)
    }

    /// What is wrong with `log.json` if no segment has the manifest's identity.
    static func otherIdentityReason(_ manifest: LogManifest) -> String {
        "log.json gives the identity \(manifest.identity), but the segments belong to another log"
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
                if let manifest = try LogManifest.read(in: LogDirectory(path: directory)) {
                    // The identity in `log.json` may be right even if the name in it is not the folder's name.
                    if sibling == name { identities.append(manifest.identity) }
                    identities.append(LogIdentity(seed: manifest.identity.description, name: name))
                }
            } catch { continue }
        }
        return identities
    }
}

extension LogDirectory {
    /// The identity digest (``LogIdentity/digest``) in the first header of each segment. A segment whose first header
    /// is not intact is left out.
    func digests() throws(EventLogError) -> Set<UInt64> {
        var digests: Set<UInt64> = []
        for first in try segments() {
            let bytes = try OpenFile.ifPresent(segmentPath(first))?.bytes(BatchFormat.headerBytes, at: 0) ?? []
            guard bytes.count == BatchFormat.headerBytes else { continue }
            if case .header(let header) = unsafe bytes.withUnsafeBytes({ unsafe FixedHeader.decode($0) }) {
                digests.insert(header.identity)
            }
        }
        return digests
    }

    /// The identities in the log's snapshots and index files.
    fileprivate func identitiesBeside() throws(EventLogError) -> [LogIdentity] {
        // This is a closure because with the key path `\.header?.log` the library of Swift 6.3 reads a byte past the
        // value (`optionalWrap`), which the address sanitizer reports.
        var identities = try SnapshotStore(logDirectory: path).list().compactMap { $0.header?.log }
        let folder = "\(path)/\(IndexFormat.folder)"
        for name in try LogDirectory.entries(of: folder).sorted() {
            guard let file = try OpenFile.ifPresent("\(folder)/\(name)") else { continue }
            if let identity = try IndexHeader.identity(of: file) { identities.append(identity) }
        }
        return identities
    }
}
