import Time

/// An event of a log, with the time and cursor of its batch.
package struct LoggedEvent: Hashable, Sendable {
    package var sequence: UInt64
    package var now: Instant
    package var cursor: Cursor
    /// The JSON object, without the line feed.
    package var line: [UInt8]

    package init(sequence: UInt64, now: Instant, cursor: Cursor = Cursor(), line: [UInt8]) {
        self.sequence = sequence
        self.now = now
        self.cursor = cursor
        self.line = line
    }
}
