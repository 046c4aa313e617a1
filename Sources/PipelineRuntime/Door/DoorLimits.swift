/// What a door takes at once.
package enum DoorLimits {
    /// One line, without its line feed. CloudKit: a record has at most 1 MB.
    ///
    /// A stage may put two such lines together, as a deletion with the record's last fields, and an event of a log
    /// (``EventLogLimits/eventBytesMax``) still has room for what it adds.
    package static let lineBytesMax = 1_000_000
}
