/// The oldest events that a stage needs to start again, in the upstream's log and in its own log.
struct RetentionFloor: Hashable {
    /// The first sequence of the upstream's log that the stage may ask for.
    var upstream: UInt64
    /// The first sequence of the stage's own log that the stage may read; `UInt64.max` if it reads none of its log.
    var own: UInt64

    static let everything = RetentionFloor(upstream: 1, own: 1)
}

extension RetentionFloor {
    /// - Parameter moment: The snapshot that the stage may start from; nil if it starts from the first event.
    init(_ moment: SnapshotMoment?) {
        self.init(upstream: (moment?.position ?? 0) + 1, own: moment?.firstRead ?? 1)
    }
}
