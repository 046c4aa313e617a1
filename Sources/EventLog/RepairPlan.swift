/// What is wrong with a log, and what a repair would lose.
package struct RepairPlan: Hashable, Sendable {
    /// A file that the repair shortens or removes.
    package struct Cut: Hashable, Sendable {
        package var file: String
        /// The bytes that stay; nil if the file is removed.
        package var bytesKept: UInt64?
        package var bytesLost: UInt64
    }

    /// The log's own folder.
    package var directory: String
    package var name: String
    /// The first damage in a segment, or the first gap between two segments; nil if the segments have neither. A
    /// torn last batch is in ``tornTail`` instead.
    package var damage: VerifyReport.Problem?
    /// A torn last batch. Opening the log would cut it off, too.
    package var tornTail: VerifyReport.Problem?
    /// What is wrong with `log.json`; nil if it is right. The repair makes `log.json` again from other files.
    package var manifestProblem: String?
    /// Sequences at the beginning that are missing, although retention did not remove them. The repair notes that the
    /// log begins after them.
    package var missingAtStart: ClosedRange<UInt64>?
    /// The files to cut, oldest first.
    package var cuts: [Cut] = []
    /// The log's last sequence after the repair. If no event stays, it is one less than the sequence of the next event.
    package var keptThrough: UInt64 = 0
    /// The highest sequence that the intact headers after the damage show; nil if they show no sequence after
    /// ``keptThrough``.
    package var lostThrough: UInt64?
    /// The number of events in the batches with intact headers, from the damage on.
    package var eventsLost: UInt64 = 0
    /// The highest sequence that a snapshot or an index file beside the log includes; nil if no such file includes a
    /// sequence after ``keptThrough``.
    package var knownThrough: UInt64?
    /// Snapshots and index files that the repair removes, because they may include events that do not stay.
    package var derivedFiles: [String] = []
    /// The number of lines of `settings.ndjson` that belong to the part that is cut.
    package var settingsLost = 0
    /// Logs in the same folder that were made from events that would be lost.
    package var consumersBeyond: [Consumer] = []

    package struct Consumer: Hashable, Sendable {
        package var name: String
        /// The last event that the consumer processed.
        package var lastProcessed: UInt64
    }

    package var bytesLost: UInt64 { cuts.reduce(0) { $0 + $1.bytesLost } }
    /// Whether the log needs no repair.
    package var isSound: Bool {
        cuts.isEmpty && manifestProblem == nil && derivedFiles.isEmpty && missingAtStart == nil
    }
}
