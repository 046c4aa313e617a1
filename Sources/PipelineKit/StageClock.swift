import EventLog

/// Feeds a stage its events in the one order that host, replay and tests share.
///
/// Time is the upstream's: an event is received at its batch's `now`, and every deadline that has passed by then is
/// served first. A wake that comes between two events is recorded by the host as a batch of its own, so the pair
/// `(cursor, now)` of each batch is all that a replay needs.
public struct StageClock<S: Stage> {
    public private(set) var stage: S
    public private(set) var now: Instant

    public init(_ stage: S, now: Instant = Instant(microseconds: 0)) {
        self.stage = stage
        self.now = now
    }

    @inline(__always)
    public mutating func receive(_ event: borrowing InputEvent, at time: Instant, into out: inout Outbox) {
        if time > now || stage.deadline != nil { advance(to: time, into: &out) }
        stage.receive(event, at: now, into: &out)
    }

    public mutating func receive(_ answer: TransportAnswer, at time: Instant, into out: inout Outbox) {
        advance(to: time, into: &out)
        stage.receive(answer, at: now, into: &out)
    }

    public mutating func recall(_ event: borrowing InputEvent, at time: Instant) {
        now = max(now, time)
        stage.recall(event, at: now)
    }

    /// Serves every deadline up to `time`, in order, and moves the clock there.
    public mutating func advance(to time: Instant, into out: inout Outbox) {
        serveDeadlines(through: time, into: &out)
        now = max(now, time)
    }

    /// Serves every deadline up to `time` and leaves the clock at the last one served.
    ///
    /// - Returns: Whether the stage was woken.
    @discardableResult
    public mutating func serveDeadlines(through time: Instant, into out: inout Outbox) -> Bool {
        var served = false
        while let deadline = stage.deadline, deadline <= time || deadline <= now {
            now = max(now, deadline)
            stage.wake(at: now, into: &out)
            if let next = stage.deadline {
                precondition(next > now, "a stage that was woken asks for a later deadline")
            }
            served = true
        }
        return served
    }

    /// Goes on with the same state under other settings. A stage that takes no snapshots keeps those that it has.
    package mutating func adopt(_ settings: S.Settings, context: StageContext) throws {
        guard S.snapshotVersion != nil else { return }
        var writer = SnapshotWriter()
        stage.snapshot(into: &writer)
        var adopted = try S(settings, context: context)
        var reader = SnapshotReader(writer.bytes)
        try adopted.restore(from: &reader)
        stage = adopted
    }
}
