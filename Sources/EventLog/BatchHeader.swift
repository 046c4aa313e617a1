import Time

/// What stands before a batch's events.
package struct BatchHeader: Hashable, Sendable {
    package var formatVersion: Int
    /// The first event's sequence; in a batch without events, the one that the next event gets.
    package var firstSequence: UInt64
    /// The number of events. A batch without events only advances the cursor and `now`.
    package var count: Int
    /// When the batch was made. Nothing earlier follows in this log.
    package var now: Instant
    /// The entries that this batch advances.
    package var cursor: Cursor
    /// The events' bytes: each event a JSON object, ended by a line feed.
    package var bodyBytes: Int

    package init(
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
    package var lastSequence: UInt64 { nextSequence - 1 }

    /// The sequence of the event after this batch.
    package var nextSequence: UInt64 { firstSequence + UInt64(count) }
}
