/// The limits of a door.
package enum DoorLimits {
    /// The longest line, without its line feed. CloudKit: a record has at most 1 MB.
    ///
    /// A stage may join two such lines in one event, such as a deletion with the record's last fields. The event still fits
    /// a log (``EventLogLimits/eventBytesMax``).
    package static let lineBytesMax = 1_000_000
}
