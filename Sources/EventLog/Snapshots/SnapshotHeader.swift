import Time

/// The stage, the state's version and the position of a snapshot.
package struct SnapshotHeader: Hashable, Sendable {
    /// The kind of the stage, as in pipeline files.
    package var stage: String
    /// The version of the state's form. Only a stage with this version can read the state.
    package var version: Int
    /// The stage's own log.
    package var log: LogIdentity
    /// The log that the stage reads; for a source, its own log.
    package var upstream: LogIdentity
    /// One entry: the name of the upstream log, and the last sequence of this log that the state includes. For a
    /// source, the entry is about its own log.
    package var cursor: Cursor
    /// The last sequence of the stage's own log when the snapshot was taken.
    package var sequence: UInt64
    /// The stage's time when the snapshot was taken.
    package var now: Instant

    package init(
        stage: String, version: Int, log: LogIdentity, upstream: LogIdentity, cursor: Cursor, sequence: UInt64,
        now: Instant
    ) {
        self.stage = stage
        self.version = version
        self.log = log
        self.upstream = upstream
        self.cursor = cursor
        self.sequence = sequence
        self.now = now
    }

    /// The last sequence of the upstream log that the state includes.
    package var position: UInt64 { cursor.positions.values.max() ?? 0 }
}

/// The requirements for a snapshot that a stage can use.
package struct SnapshotFit: Hashable, Sendable {
    package var stage: String
    package var version: Int
    package var log: LogIdentity
    package var upstream: LogIdentity
    /// The last sequence of the stage's own log.
    package var lastSequence: UInt64

    package init(stage: String, version: Int, log: LogIdentity, upstream: LogIdentity, lastSequence: UInt64) {
        self.stage = stage
        self.version = version
        self.log = log
        self.upstream = upstream
        self.lastSequence = lastSequence
    }

    /// Why a snapshot cannot be used; nil if it can.
    package func objection(to header: SnapshotHeader) -> String? {
        if header.log != log { return "it belongs to log \(header.log)" }
        if header.upstream != upstream { return "it was made from log \(header.upstream)" }
        if header.sequence > lastSequence {
            return "it was taken at sequence \(header.sequence), but its log ends at \(lastSequence)"
        }
        if header.stage != stage { return "it is a snapshot of a stage '\(header.stage)'" }
        if header.version != version {
            return "its state has version \(header.version), but this build reads version \(version)"
        }
        return nil
    }
}

/// A snapshot whose CRCs were checked.
package struct Snapshot: Hashable, Sendable {
    package var path: String
    package var header: SnapshotHeader
    package var state: [UInt8]
}

/// A file in the folder of snapshots.
package struct SnapshotFile: Hashable, Sendable {
    package var path: String
    package var bytes: UInt64
    /// Nil if the header cannot be read, or does not fit the file's name or size; ``problem`` says why.
    package var header: SnapshotHeader?
    package var problem: String?

    /// The file's name in the folder of snapshots.
    package var name: String { LogDirectory.split(path).name }
}
