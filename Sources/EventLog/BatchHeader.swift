import Time

/// What stands before a batch's events.
public struct BatchHeader: Hashable, Sendable {
    public var formatVersion: Int
    /// The first event's sequence; in a batch without events, the one that the next event gets.
    public var firstSequence: UInt64
    /// The number of events. A batch without events only advances the cursor and `now`.
    public var count: Int
    /// When the batch was made. Nothing earlier follows in this log.
    public var now: Instant
    /// The entries that this batch advances.
    public var cursor: Cursor
    /// The events' bytes: each event a JSON object, ended by a line feed.
    public var bodyBytes: Int

    public init(
        formatVersion: Int = BatchFormat.version, firstSequence: UInt64, count: Int, now: Instant,
        cursor: Cursor = Cursor(), bodyBytes: Int
    ) {
        self.formatVersion = formatVersion
        self.firstSequence = firstSequence
        self.count = count
        self.now = now
        self.cursor = cursor
        self.bodyBytes = bodyBytes
    }

    /// The last event's sequence; in a batch without events, the one before ``firstSequence``.
    public var lastSequence: UInt64 { nextSequence - 1 }

    /// The sequence of the event after this batch.
    public var nextSequence: UInt64 { firstSequence + UInt64(count) }
}
