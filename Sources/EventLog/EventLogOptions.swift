import Time

/// Where a log is and how it is kept.
package struct EventLogOptions: Sendable {
    /// The folder that holds the logs; this one is the folder ``name`` in it. Made where it is missing.
    package var directory: String
    package var name: String
    /// The identity of a log that does not exist yet; nil draws one. A log that exists keeps its own.
    package var identity: LogIdentity?
    /// A segment is closed before it would grow larger; one batch may be larger alone.
    package var segmentBytesMax: Int
    package var sync: SyncPolicy
    /// Of the folders that are made; what is in the log gets the mode of the log's folder.
    package var mode: DataMode

    package var calls = FileCalls()

    package init(
        directory: String, name: String, identity: LogIdentity? = nil, segmentBytesMax: Int = 128 << 20,
        sync: SyncPolicy = .always, mode: DataMode = .owner
    ) {
        self.directory = directory
        self.name = name
        self.identity = identity
        self.segmentBytesMax = segmentBytesMax
        self.sync = sync
        self.mode = mode
    }

    /// The log's own folder, which ``EventLogReader`` and ``EventLogs/verify(directory:progress:)`` take.
    package var logDirectory: String { directory + "/" + name }
}
