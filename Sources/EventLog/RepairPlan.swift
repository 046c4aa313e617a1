/// What is wrong with a log, and what putting it right would cost.
public struct RepairPlan: Hashable, Sendable {
    /// A file that ends earlier after the repair, or is gone.
    public struct Cut: Hashable, Sendable {
        public var file: String
        /// What stays of it; nil where the whole file goes.
        public var bytesKept: UInt64?
        public var bytesLost: UInt64
    }

    /// The log's own folder.
    public var directory: String
    public var name: String
    /// The first damage; nil where the log is read to its end, or to a torn last batch.
    public var damage: VerifyReport.Problem?
    /// A torn last batch: opening the log cuts it off too.
    public var tornTail: VerifyReport.Problem?
    /// What is wrong with `log.json`, whose content was found elsewhere; nil where it is right.
    public var manifest: String?
    /// Sequences at the beginning that are missing though no retention removed them: what can be done is to put on
    /// record that the log begins behind them.
    public var missing: ClosedRange<UInt64>?
    /// What would be cut, oldest first.
    public var cuts: [Cut] = []
    /// The last sequence that stays; 0 where none does.
    public var keptThrough: UInt64 = 0
    /// The last sequence that would be lost, as far as one can see; nil where none is seen.
    public var lostThrough: UInt64?
    /// Events that would be lost, as far as one can see.
    public var eventsLost: UInt64 = 0
    /// The last sequence that snapshots and index files beside the log know, where that is more than stays.
    public var knownThrough: UInt64?
    /// Snapshots and index files that are ahead of what stays.
    public var derived: [String] = []
    /// Changes of the stage's settings that are on record for what would be cut.
    public var settingsLost = 0
    /// Logs in the same folder that have done events which would be lost, with the last that each has done.
    public var consumersBeyond: [Consumer] = []

    public struct Consumer: Hashable, Sendable {
        public var name: String
        public var done: UInt64
    }

    public var bytesLost: UInt64 { cuts.reduce(0) { $0 + $1.bytesLost } }
    /// Whether there is nothing to do.
    public var isSound: Bool { cuts.isEmpty && manifest == nil && derived.isEmpty && missing == nil }
}
