/// What is wrong with a log, and what putting it right would cost.
package struct RepairPlan: Hashable, Sendable {
    /// A file that ends earlier after the repair, or is gone.
    package struct Cut: Hashable, Sendable {
        package var file: String
        /// What stays of it; nil where the whole file goes.
        package var bytesKept: UInt64?
        package var bytesLost: UInt64
    }

    /// The log's own folder.
    package var directory: String
    package var name: String
    /// The first damage; nil where the log is read to its end, or to a torn last batch.
    package var damage: VerifyReport.Problem?
    /// A torn last batch: opening the log cuts it off too.
    package var tornTail: VerifyReport.Problem?
    /// What is wrong with `log.json`, whose content was found elsewhere; nil where it is right.
    package var manifest: String?
    /// Sequences at the beginning that are missing though no retention removed them: what can be done is to put on
    /// record that the log begins behind them.
    package var missing: ClosedRange<UInt64>?
    /// What would be cut, oldest first.
    package var cuts: [Cut] = []
    /// The last sequence that stays; 0 where none does.
    package var keptThrough: UInt64 = 0
    /// The last sequence that would be lost, as far as one can see; nil where none is seen.
    package var lostThrough: UInt64?
    /// Events that would be lost, as far as one can see.
    package var eventsLost: UInt64 = 0
    /// The last sequence that snapshots and index files beside the log know, where that is more than stays.
    package var knownThrough: UInt64?
    /// Snapshots and index files that are ahead of what stays.
    package var derived: [String] = []
    /// Changes of the stage's settings that are on record for what would be cut.
    package var settingsLost = 0
    /// Logs in the same folder that have done events which would be lost, with the last that each has done.
    package var consumersBeyond: [Consumer] = []

    package struct Consumer: Hashable, Sendable {
        package var name: String
        package var done: UInt64
    }

    package var bytesLost: UInt64 { cuts.reduce(0) { $0 + $1.bytesLost } }
    /// Whether there is nothing to do.
    package var isSound: Bool { cuts.isEmpty && manifest == nil && derived.isEmpty && missing == nil }
}
