/// What of the logs a stage needs in order to start again.
struct RetentionFloor: Hashable {
    /// The first sequence of the upstream's log that it may ask for.
    var upstream: UInt64
    /// The first sequence of its own log that it may read.
    var own: UInt64

    static let everything = RetentionFloor(upstream: 1, own: 1)

    init(upstream: UInt64, own: UInt64) {
        self.upstream = upstream
        self.own = own
    }

    /// - Parameter moment: What it starts from; nil: from the first event.
    init(_ moment: SnapshotMoment?) {
        self.init(upstream: (moment?.position ?? 0) + 1, own: moment?.firstRead ?? 1)
    }
}
