import Time

/// Where a log is and how it is written.
package struct EventLogOptions: Sendable {
    /// The folder that holds the logs; the log is the folder ``name`` in it. Missing folders are made.
    package var directory: String
    package var name: String
    /// The identity of a new log; nil gives it a random identity. An existing log keeps its identity.
    package var identity: LogIdentity?
    /// The writer begins a new segment if the current segment would become larger than this size with the next batch. A
    /// segment without events accepts any batch.
    package var segmentBytesMax: Int
    package var sync: SyncPolicy
    /// Where the log is kept besides the local files; nil for local files alone. With a home, ``sync`` has no effect: a
    /// batch is durable when the home has stored it.
    package var home: (any LogHome)?
    /// The log's name in its home; nil for ``name``.
    package var nameInHome: String?
    /// If set, the log is taken over in its home only if it ends there with the message at this position.
    package var endInHome: UInt64?
    /// The mode of new folders. Files in the log get the mode of the log's folder.
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

    /// The log's own folder.
    package var logDirectory: String { directory + "/" + name }
}
