/// The first events of its logs that a stage needs to start again.
struct RetentionFloor: Hashable {
    /// The first sequence of the upstream's log that it may ask for.
    var upstream: UInt64
    /// The first sequence of its own log that it may read.
    var own: UInt64

    static let everything = RetentionFloor(upstream: 1, own: 1)
}

extension RetentionFloor {
    /// - Parameter moment: The snapshot that the stage may start from; nil: it starts from the first event.
    init(_ moment: SnapshotMoment?) {
        self.init(upstream: (moment?.position ?? 0) + 1, own: moment?.firstRead ?? 1)
    }
}
