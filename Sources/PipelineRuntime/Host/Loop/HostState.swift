import PipelineKit
import Time

/// What a host is doing, and how far it has come: a value that knows no socket, no file and no clock. The host tells it
/// what happened; ``next(_:)`` says what to do next.
///
/// | State | What is done in it | What ends it |
/// |---|---|---|
/// | ``Activity/waitingForUpstream`` | nothing: how long the past is, is not known | ``begin(taken:committed:resuming:)`` |
/// | ``Activity/catchingUp`` | events of the past are fed, and nothing is appended; an unfinished step is done again | ``endPast()``, ``goOnUnderTodaysSettings()`` |
/// | ``Activity/folding`` | events are fed, deadlines served, answers taken, batches appended | the three below |
/// | ``Activity/delivering`` | the outputs of one step are appended part by part, and the stage is asked for nothing else | ``endStep()`` |
/// | ``Activity/waitingForRoom`` | input in hand waits for the log or for transports, and nothing more is taken | ``takeHeld()`` |
/// | ``Activity/stopping`` | nothing more is taken or handed out; answers to what is out are still taken | the host's end |
///
/// A source and a plugin's program have no past to be fed: they begin with ``caughtUp(through:)``. What a stage did in its
/// past, and in which order, is ``RecordedPast``.
struct HostState: Hashable {
    enum Activity: Hashable {
        case waitingForUpstream, catchingUp, folding, delivering, waitingForRoom, stopping
    }

    /// How much of its past the stage was fed.
    private enum Past: Hashable {
        case unknown
        /// - Parameters:
        ///   - through: The last event of the past.
        ///   - step: What the log holds a part of, behind that event.
        case fed(through: UInt64, step: UnfinishedStep?)
        /// All but the step that the log holds a part of.
        case endsIn(UnfinishedStep)
        /// All of it; but the settings are still those of the past.
        case whole
        case over
    }

    /// What there is to do, in the order of a turn of the host's loop.
    enum Action: Hashable {
        /// Give the stage the answers that have come.
        case takeAnswers
        /// Hand out what transports have room for.
        case handOut
        /// Go on with what had to wait.
        case goOn
        /// Take the next of what came in, and tell by ``noteInput(bytes:)`` or ``noteNoInput()``.
        case receive
        /// Serve the deadlines that have passed.
        case wake
        /// Append what the stage has said.
        case commit
    }

    /// Input that waits for room.
    enum HeldInput: Hashable {
        case lines([UInt8], first: UInt64, now: Instant)
        /// - Parameter asker: The producer that moves virtual time; nil where the upstream's time moves.
        case time(Instant, mark: UInt64, asker: [UInt8]? = nil)
        /// What a program has answered to the events through this one.
        case outputs(through: UInt64, isSetAside: Bool = false)
    }

    /// What the world around the host is like when the host asks.
    struct Conditions: Hashable {
        /// Whether the log had no room for the last append.
        var isLogFull = false
        /// Whether transports take more: in virtual time, whether they have answered all that was handed out.
        var haveTransportsRoom = true
        /// Whether answers have come that the stage has not been given.
        var hasAnswers = false
        /// Whether the host was asked to stop.
        var isStopping = false
    }

    private var past = Past.unknown
    private var turn = Turn()
    /// The last event that the stage was given.
    private(set) var taken: UInt64 = 0
    /// The last event whose outputs are in the log.
    private(set) var committed: UInt64 = 0
    /// What the stage is in the middle of.
    private(set) var step: OpenStep?
    private(set) var held: HeldInput?
    /// Whether the next batch is appended even if it holds no event: that the stage was woken is to be on record.
    private(set) var mustRecord = false

    /// Parts that one turn of the loop appends: then consumers are served before it goes on.
    private static let turnPartsMax = 16
    /// So many events without an output, and the cursor is put on record alone.
    private static let unrecordedMax: UInt64 = 65_536

    func activity(_ conditions: Conditions) -> Activity {
        if past == .unknown { return .waitingForUpstream }
        if conditions.isStopping { return .stopping }
        if held != nil || conditions.isLogFull { return .waitingForRoom }
        if step != nil { return .delivering }
        return hasCaughtUp ? .folding : .catchingUp
    }

    /// What a report says of it.
    var phase: HostReport.Phase { past == .unknown ? .waitingForUpstream : pastEnd == nil ? .running : .rebuilding }

    // MARK: What may be done

    /// Whether today's settings count: the past was fed, all of it.
    @inline(__always)
    var hasCaughtUp: Bool { past == .over }

    /// The last event of the past that is still fed; nil where none is.
    @inline(__always)
    var pastEnd: UInt64? { if case .fed(let through, _) = past { through } else { nil } }

    /// The step that the log holds a part of, and that is not under way again yet.
    var resumption: UnfinishedStep? {
        switch past {
        case .fed(_, let step): step
        case .endsIn(let step): step
        case .unknown, .whole, .over: nil
        }
    }

    /// Whether what the stage says is to be appended: the log has what it said in the past.
    var mayAppend: Bool { past == .whole || past == .over }

    func wantsInput(_ conditions: Conditions) -> Bool {
        conditions.haveTransportsRoom && !conditions.isStopping && !conditions.isLogFull && held == nil && step == nil
    }

    /// Whether a deadline that passes now is served now.
    func mayWake(_ conditions: Conditions) -> Bool {
        hasCaughtUp && !conditions.isLogFull && step == nil && conditions.haveTransportsRoom
    }

    func mayTakeAnswers(_ conditions: Conditions) -> Bool {
        hasCaughtUp && !conditions.isLogFull && conditions.hasAnswers
    }

    /// Whether pushes may go to transports.
    func mayHandOut(_ conditions: Conditions) -> Bool {
        hasCaughtUp && !conditions.isLogFull && !conditions.isStopping
    }

    /// Whether what had to wait need wait no more.
    func mayGoOn(_ conditions: Conditions) -> Bool {
        (held != nil || step != nil) && !conditions.isLogFull && conditions.haveTransportsRoom
    }

    /// Whether the stage is that of its log and of what it has taken, and of nothing that is still to come.
    func isSettled(_ conditions: Conditions) -> Bool {
        hasCaughtUp && !conditions.isLogFull && step == nil && held == nil && !mustRecord
    }

    /// Whether the turn may append one more part of a step.
    var mayAppendPart: Bool { turn.parts < Self.turnPartsMax }

    /// Whether a batch is appended though it holds no event.
    var isRecordDue: Bool { mustRecord || taken - committed >= Self.unrecordedMax }

    // MARK: Turns

    /// One turn of the host's loop.
    private struct Turn: Hashable {
        enum Place { case answers, firstHandOut, held, input, settling, settledHandOut, time, end, lastHandOut, over }

        var place = Place.over
        /// Whether each input is committed and handed out before the next is taken.
        var settlesEachInput = false
        var hasInput = false
        /// Input that it has taken.
        var bytes = 0
        var bytesMax = 0
        /// Batches that it has appended of steps that are not at their end.
        var parts = 0
    }

    /// - Parameters:
    ///   - hasInput: Whether something has come in.
    ///   - bytesMax: Input that the turn takes at most.
    ///   - settlesEachInput: Whether all that one input leads to is done before the next is taken, as virtual time wants.
    mutating func beginTurn(hasInput: Bool = false, bytesMax: Int = .max, settlesEachInput: Bool = false) {
        turn = Turn(
            place: .answers, settlesEachInput: settlesEachInput, hasInput: hasInput, bytesMax: bytesMax)
    }

    /// What to do now; nil where the turn is over.
    ///
    /// Answers come first, for their streams stand idle; then what waits; then as much input as the turn takes; then
    /// time; and what came of all that is appended before it is handed out.
    mutating func next(_ conditions: Conditions) -> Action? {
        while true {
            switch turn.place {
            case .answers:
                turn.place = .firstHandOut
                if mayTakeAnswers(conditions) { return .takeAnswers }
            case .firstHandOut:
                turn.place = .held
                if mayHandOut(conditions) { return .handOut }
            case .held:
                turn.place = .input
                if held != nil, conditions.haveTransportsRoom { return .goOn }
            case .input:
                guard turn.hasInput, turn.bytes < turn.bytesMax, wantsInput(conditions) else {
                    turn.place = .time
                    continue
                }
                if turn.settlesEachInput { turn.place = .settling }
                return .receive
            case .settling:
                turn.place = turn.hasInput ? .settledHandOut : .time
                if turn.hasInput { return .commit }
            case .settledHandOut:
                turn.place = .input
                if mayHandOut(conditions) { return .handOut }
            case .time:
                turn.place = .end
                if mayWake(conditions) { return .wake }
            case .end:
                turn.place = .lastHandOut
                return .commit
            case .lastHandOut:
                turn.place = .over
                if mayHandOut(conditions) { return .handOut }
            case .over: return nil
            }
        }
    }

    /// Whether another turn has something to do at once.
    func hasMore(_ conditions: Conditions) -> Bool {
        turn.hasInput && wantsInput(conditions) || mayTakeAnswers(conditions) || mayGoOn(conditions)
    }

    mutating func noteInput(bytes: Int) { turn.bytes += bytes }

    /// Nothing more has come in.
    mutating func noteNoInput() { turn.hasInput = false }

    // MARK: The past

    /// There is no past to be fed: what there was is in the stage already.
    static func caughtUp(through sequence: UInt64) -> HostState {
        var state = HostState()
        (state.past, state.taken, state.committed) = (.over, sequence, sequence)
        return state
    }

    /// The upstream has said what it holds.
    ///
    /// - Parameters:
    ///   - taken: The last event that the stage's snapshot includes.
    ///   - committed: The last event whose outputs are in the log.
    ///   - step: What the log holds a part of.
    mutating func begin(taken: UInt64, committed: UInt64, resuming step: UnfinishedStep?) {
        (self.taken, self.committed) = (taken, committed)
        past = .fed(through: committed, step: step)
    }

    /// All of the past was fed, but for a step that the log holds a part of.
    mutating func endPast() {
        guard case .fed(let through, let step) = past else { return }
        committed = through
        past = step.map { .endsIn($0) } ?? .whole
    }

    /// What the log holds a part of does not come again.
    mutating func dropResumption() {
        if case .endsIn = past { past = .whole }
    }

    /// From here on the pipeline file's settings count.
    mutating func goOnUnderTodaysSettings() { past = .over }

    // MARK: Input

    /// The stage was given all events through this one.
    @inline(__always)
    mutating func take(through sequence: UInt64) { taken = sequence }

    /// Input has to wait; nothing more is taken until ``takeHeld()``.
    mutating func hold(_ input: HeldInput) { held = input }

    mutating func takeHeld() -> HeldInput? { held.take() }

    /// The stage is never given that event, and the log says so.
    mutating func setAside(_ sequence: UInt64) { (taken, committed, mustRecord) = (sequence, sequence, false) }

    // MARK: Steps

    /// The stage is in the middle of an event or a wake. Of a step that the log holds a part of, so many outputs are known.
    ///
    /// - Parameters:
    ///   - event: Nil for a wake.
    ///   - outputsBefore: Outputs that wait to be appended, of earlier steps.
    ///   - next: The sequence of the log's next event.
    mutating func beginStep(_ kind: UnfinishedStep.Kind, of event: UInt64?, behind outputsBefore: Int, next: UInt64) {
        if case .endsIn(let former) = past, former.kind == kind {
            step = OpenStep(unfinished: former, event: event, known: next - former.first)
            (past, mustRecord) = (.whole, true)
        } else {
            step = OpenStep(unfinished: UnfinishedStep(kind, first: next + UInt64(outputsBefore)), event: event)
        }
    }

    /// After a restart a step is done again from its beginning.
    ///
    /// - Parameter count: How many outputs have come.
    /// - Returns: How many of them the log has already.
    mutating func dropKnown(of count: Int) -> Int {
        guard let known = step?.known, known > 0 else { return 0 }
        let dropped = min(count, Int(clamping: known))
        step?.known = known - UInt64(dropped)
        return dropped
    }

    mutating func endStep() {
        if let event = step?.event { taken = event }
        step = nil
    }

    // MARK: Batches

    /// The next batch is appended even if it holds no event.
    mutating func requireRecord() { mustRecord = true }

    /// A part of a step is in the log; that the step ends is to be on record too.
    mutating func notePart() { (turn.parts, mustRecord) = (turn.parts + 1, true) }

    /// What the stage said to all that it was given is in the log; or what it said to the events through `sequence`.
    mutating func noteAppended(through sequence: UInt64? = nil) { (committed, mustRecord) = (sequence ?? taken, false) }
}

/// One event, or one wake, whose outputs are appended part by part.
struct OpenStep: Hashable {
    let unfinished: UnfinishedStep
    /// Nil for a wake.
    let event: UInt64?
    /// Outputs still to come that the log has from before a restart.
    var known: UInt64 = 0
}
