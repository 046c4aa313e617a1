import Foundation

/// Exports the files that a replay needs besides the log's segments.
extension LogExport {
    static func exportSettings(of log: LogDirectory, _ put: (String) throws -> Void) throws {
        for line in try SettingsFile.read(logDirectory: log.path)?.texts ?? [] {
            try put("{\"settings\":\(line)}")
        }
    }

    /// The log's snapshots if a replay may need them, otherwise no snapshots. A replay may need them if the log or its
    /// upstream log lacks its first events or has no segments, or if the upstream log is missing.
    ///
    /// Call this method before reading the segments, so that no snapshot is newer than the exported events.
    static func neededSnapshots(of log: LogDirectory, _ upstream: UpstreamNote?) throws -> [SnapshotFile] {
        let source = upstream.map { LogDirectory(path: LogDirectory.split(log.path).folder + "/" + $0.log) }
        guard try log.lacksFirstEvents() || source?.lacksFirstEvents() ?? false else { return [] }
        return try SnapshotStore(logDirectory: log.path).list().filter { $0.problem == nil }
    }

    static func exportSnapshots(_ files: [SnapshotFile], _ put: (String) throws -> Void) throws {
        for file in files {
            guard let content = try OpenFile.ifPresent(file.path) else { continue }
            try export(content, as: LogDirectory.split(file.path).name, put)
        }
    }

    private static func export(_ file: OpenFile, as name: String, _ put: (String) throws -> Void) throws {
        var offset: UInt64 = 0
        while case let part = try file.bytes(partBytes, at: offset), !part.isEmpty {
            try put("{\"snapshot\":\"\(name)\",\"part\":\"\(Data(part).base64EncodedString())\"}")
            offset += UInt64(part.count)
        }
    }

    /// The maximum number of a snapshot's bytes in one line.
    private static let partBytes = 192 << 10
}

extension LogDirectory {
    /// Whether the log's first events are gone, or the log has no segments.
    fileprivate func lacksFirstEvents() throws(EventLogError) -> Bool { try segments().first ?? .max > 1 }
}
