import Time

/// Feeds a stage its events and wakes. Host, replay and tests share this type, so that all feed a stage in the same
/// order.
///
/// The stage's time is the time of its input: the stage receives an event at the `now` of the event's batch, after it
/// was woken for every deadline up to this time. If the stage is woken while no event has come, the outputs are a batch
/// of their own, whose `now` is the time of the last wake. So a replay needs only the pair `(cursor, now)` of each
/// batch.
public struct StageClock<S: Stage> {
    /// The stage after its last event, answer or wake.
    public private(set) var stage: S
    /// The stage's time; it never goes back.
    public private(set) var now: Instant
    /// Why the host must end the stage; nil while there is no reason. After a fault the stage is not woken any more.
    public private(set) var fault: StageFault?
    private var isInWake = false
    private var (wroteInWake, hadParts) = (false, false)
    private var fruitless = FruitlessWakes()

    /// Starts at `now`. For a restored stage, this is the time of its snapshot.
    public init(_ stage: S, now: Instant = Instant(microseconds: 0)) {
        self.stage = stage
        self.now = now
    }

    /// Wakes the stage for each deadline up to `time`, then gives it the event.
    @inline(__always)
    public mutating func receive(_ event: borrowing InputEvent, at time: Instant, into out: inout Outbox) {
        if time > now || stage.deadline != nil { advance(to: time, into: &out) }
        begin(event, at: now, into: &out)
        finish(into: &out)
    }

    /// Gives the stage an answer at ``now``.
    public mutating func receive(_ answer: TransportAnswer, into out: inout Outbox) {
        fruitless.end()
        out.beginPart()
        stage.receive(answer, at: now, into: &out)
        finish(into: &out)
    }

    /// Gives a source an event of its own log again. Does not wake the stage and makes no output.
    public mutating func recall(_ event: borrowing InputEvent, at time: Instant) {
        now = max(now, time)
        fruitless.end()
        stage.recall(event, at: now)
    }

    /// Wakes the stage for each deadline up to `time`, in order, and moves the clock to `time`.
    public mutating func advance(to time: Instant, into out: inout Outbox) {
        serveDeadlines(through: time, into: &out)
        now = max(now, time)
    }

    /// Wakes the stage for each deadline up to `time`, in order, and leaves the clock at the last wake.
    ///
    /// - Returns: Whether the stage was woken.
    @discardableResult
    public mutating func serveDeadlines(through time: Instant, into out: inout Outbox) -> Bool {
        var hasWoken = false
        while isDue(at: time) {
            serveNext(into: &out)
            hasWoken = true
        }
        return hasWoken
    }

    /// Wakes the stage for its next deadline.
    public mutating func serveNext(into out: inout Outbox) {
        beginWake(into: &out)
        finish(into: &out)
    }

    /// Replaces the settings and keeps the state. A stage without snapshots keeps its old settings.
    package mutating func adopt(_ settings: S.Settings, context: StageContext) throws {
        guard S.snapshotVersion != nil else { return }
        precondition(!stage.isUnfinished, "the settings change in the middle of an event")
        var writer = SnapshotWriter()
        stage.snapshot(into: &writer)
        var adopted = try S(settings, context: context)
        var reader = SnapshotReader(writer.bytes)
        try adopted.restore(from: &reader)
        stage = adopted
    }
}

/// Events and wakes one part at a time, for a host that appends the outputs between the parts: see
/// ``PartwiseStage/isUnfinished``.
extension StageClock {
    /// Whether ``proceed(into:)`` must be called next.
    @inline(__always)
    package var isUnfinished: Bool { stage.isUnfinished }

    /// The time of the stage's next wake: its deadline, or ``now`` if the deadline has passed. Nil without a deadline,
    /// and after a fault.
    package var nextWake: Instant? { fault == nil ? stage.deadline.map { max($0, now) } : nil }

    /// How many wakes in a row had no output, or were followed by a deadline that was not later than the wake.
    package var fruitlessWakes: Int { fruitless.count }

    /// Whether the stage must be woken before it gets an event at that time.
    @inline(__always)
    package func isDue(at time: Instant) -> Bool {
        guard let deadline = stage.deadline else { return false }
        return (deadline <= time || deadline <= now) && fault == nil
    }

    /// ``isDue(at:)`` for a clock that an object owns. A non-mutating call on such a clock would first copy the stage.
    @inline(__always)
    package mutating func comesDue(at time: Instant) -> Bool { isDue(at: time) }

    /// ``isUnfinished`` for a clock that an object owns, for the same reason.
    @inline(__always)
    package mutating func staysUnfinished() -> Bool { stage.isUnfinished }

    /// Takes note of an event of another lane, which the stage does not get. It changes nothing but the time.
    package mutating func passOver(at time: Instant, into out: inout Outbox) {
        now = max(now, time)
        fruitless.end()
        out.beginPart()
    }

    /// Gives the stage an event. No deadline may be due.
    @inline(__always)
    package mutating func begin(_ event: borrowing InputEvent, at time: Instant, into out: inout Outbox) {
        now = max(now, time)
        fruitless.end()
        out.beginPart()
        stage.receive(event, at: now, into: &out)
    }

    /// Wakes the stage for its next deadline.
    package mutating func beginWake(into out: inout Outbox) {
        guard let moment = nextWake else { return }
        (now, isInWake) = (moment, true)
        out.beginPart()
        let before = out.totalCount
        stage.wake(at: now, into: &out)
        notePartOfWake(hasWritten: out.totalCount > before)
    }

    /// Lets the stage write its next part.
    package mutating func proceed(into out: inout Outbox) {
        out.beginPart()
        let before = out.totalCount
        stage.proceed(at: now, into: &out)
        notePartOfWake(hasWritten: out.totalCount > before)
    }

    @inline(__always)
    private mutating func finish(into out: inout Outbox) {
        while stage.isUnfinished { proceed(into: &out) }
    }

    private mutating func notePartOfWake(hasWritten: Bool) {
        guard isInWake else { return }
        wroteInWake = wroteInWake || hasWritten
        guard !stage.isUnfinished else {
            hadParts = true
            return
        }
        defer { (isInWake, wroteInWake, hadParts) = (false, false, false) }
        let next = stage.deadline
        let isStuck = next.map { $0 <= now } ?? false
        guard isStuck || !wroteInWake else { return fruitless.end() }
        fruitless.add(at: now)
        // If the outputs of a wake fill several batches, only the batches' `now` says in the log which wake they belong
        // to. So there must not be a second wake at the same time.
        guard let next, fruitless.areTooMany || isStuck && hadParts else { return }
        fault = StageFault(stage: S.kind, wakes: fruitless.countInSecond, from: fruitless.second, to: now, next: next)
    }
}

/// Counts wakes in a row without an output, or with a next deadline that is not later than the wake, since the stage's
/// last event or answer.
private struct FruitlessWakes {
    private(set) var count = 0
    /// How many of these wakes there were since ``second``.
    private(set) var countInSecond = 0
    /// The time of the first wake that ``countInSecond`` counts. A wake a second or more later begins a new count.
    private(set) var second = Instant.epoch

    var areTooMany: Bool { countInSecond >= StageFault.wakesUntilFault }

    @inline(__always)
    mutating func end() { count = 0 }

    mutating func add(at now: Instant) {
        if count == 0 || now - second >= .seconds(1) { (second, countInSecond) = (now, 0) }
        count += 1
        countInSecond += 1
    }
}
