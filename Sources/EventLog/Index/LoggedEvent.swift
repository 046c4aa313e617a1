import Time

/// An event of a log, with what its batch says.
public struct LoggedEvent: Hashable, Sendable {
    public var sequence: UInt64
    /// Its batch's ``BatchHeader/now``.
    public var now: Instant
    /// Its batch's ``BatchHeader/cursor``.
    public var cursor: Cursor
    /// The JSON object, without the line feed.
    public var line: [UInt8]

    public init(sequence: UInt64, now: Instant, cursor: Cursor = Cursor(), line: [UInt8]) {
        self.sequence = sequence
        self.now = now
        self.cursor = cursor
        self.line = line
    }
}
