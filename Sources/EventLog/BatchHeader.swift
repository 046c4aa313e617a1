import Time

/// The sequences, time, cursor and size of a batch of events.
package struct BatchHeader: Hashable, Sendable {
    /// The first event's sequence; in a batch without events, the sequence of the next event.
    package var firstSequence: UInt64
    /// The number of events. A batch without events only changes the cursor or `now`.
    package var count: Int
    /// When the batch was made. No later batch of the log has an earlier time.
    package var now: Instant
    /// The cursor entries that this batch changes. An entry of 0 removes its name from the log's cursor.
    package var cursor: Cursor
    /// The size of the events. Each event is a JSON object and a line feed.
    package var bodyBytes: Int

    package init(firstSequence: UInt64, count: Int, now: Instant, cursor: Cursor = Cursor(), bodyBytes: Int) {
        self.firstSequence = firstSequence
        self.count = count
        self.now = now
        self.cursor = cursor
        self.bodyBytes = bodyBytes
    }

    /// The last event's sequence; in a batch without events, the sequence before ``firstSequence``.
    package var lastSequence: UInt64 { nextSequence - 1 }

    /// The sequence of the first event after this batch.
    package var nextSequence: UInt64 { firstSequence + UInt64(count) }
}
