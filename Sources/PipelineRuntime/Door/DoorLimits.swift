/// The limits of a door.
package enum DoorLimits {
    /// The maximum length of a line without its line feed, except a `records.modify`. It is CloudKit's limit for a
    /// record, 1 MB.
    ///
    /// An event may be about twice as long, because it may also contain the content of an earlier line. For example,
    /// the event of a deletion also has the fields that the record had last. Such an event is still below the limit for
    /// logs (``EventLogLimits/eventBytesMax``).
    package static let lineBytesMax = 1_000_000

    /// The maximum length of a `records.modify` without its line feed.
    package static let modifyBytesMax = 4_000_000
}
