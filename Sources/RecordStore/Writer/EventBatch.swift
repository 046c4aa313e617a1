import Time

/// Consecutive events of the changes log with one time.
package struct EventBatch: Sendable {
    package let firstSequence: UInt64
    package let now: Instant
    /// JSON objects, one a line.
    package let lines: [UInt8]

    package init(firstSequence: UInt64, now: Instant, lines: [UInt8]) {
        (self.firstSequence, self.now, self.lines) = (firstSequence, now, lines)
    }
}

/// An applied event whose command had a `request`.
package struct AppliedRequest: Sendable, Hashable {
    package let sequence: UInt64
    package let request: String
    /// The event's type: `record.save`, …
    package let type: String
    /// The zone of the record, or the zone that was saved or deleted; nil for events of subscriptions and devices.
    package let zone: ZoneKey?
    /// The record's name, the subscription's ID or the device's name; nil for the events of zones.
    package let name: String?
    /// The record after a `record.save`; nil for other events.
    package let record: StoredRecord?
}
