import PipelineKit
import Time

/// The state of a host's loop: a value without sockets, files and clocks. The host tells the state what happened;
/// ``next(_:)`` returns what to do next.
///
/// | State | What happens in it | What ends it |
/// |---|---|---|
/// | waiting for upstream | nothing: the length of the past is unknown | ``begin(taken:committed:resuming:)`` |
/// | catching up | recorded events are fed, nothing is appended; then an unfinished step is repeated and finished | ``endPast()``, ``switchToCurrentSettings()`` |
/// | folding | events are fed, the stage is woken, answers are taken, batches are appended | one of the next three states |
/// | writing parts | the outputs of one step are appended part by part; the stage gets nothing else | ``endStep()`` |
/// | waiting for room | held input waits for the log or for transports; no more is taken | ``takeHeld()`` |
/// | stopping | no input is taken and no push handed out; answers to pushes in flight are taken | the host's end |
///
/// For a source and for a plugin's program there is no past to feed: their states begin with ``caughtUp(through:)``.
/// ``RecordedPast`` says what a stage did in its past.
struct HostState: Hashable {
    /// How much of the past was fed to the stage. The past consists of the upstream events whose outputs the log holds.
    private enum Past: Hashable {
        case unknown
        /// The past is being fed.
        ///
        /// - Parameters:
        ///   - through: The last event of the past.
        ///   - step: The step after that event, which the log holds in part.
        case feeding(through: UInt64, step: UnfinishedStep?)
        /// The whole past was fed, except an unfinished step.
        case endsIn(UnfinishedStep)
        /// The whole past was fed, but the stage still has the old settings.
        case whole
        /// The whole past was fed, and the stage has the pipeline file's settings.
        case over
    }

    /// The actions of a turn of the host's loop. ``next(_:)`` gives their order.
    enum Action: Hashable {
        case takeAnswers
        case handOut
        /// Continue with held input.
        case takeHeld
        /// Take the next input, then call ``noteInput(bytes:)`` or ``noteNoInput()``.
        case receive
        case wake
        case commit
    }

    /// Input that the host has taken and that must wait, for example for room.
    enum HeldInput: Hashable {
        case lines([UInt8], first: UInt64, now: Instant)
        /// - Parameters:
        ///   - mark: The number that a producer sent together with the time. Each stage passes the number on after all
        ///     earlier work.
        ///   - asker: The producer that moves virtual time; nil for the upstream's time.
        case time(Instant, mark: UInt64, asker: [UInt8]? = nil)
        /// A program's outputs for the events through this one.
        ///
        /// - Parameter isSetAside: Whether the event `through` is set aside. Then it has a dead letter instead of
        ///   outputs.
        case outputs(through: UInt64, isSetAside: Bool = false)
    }

    /// What the host finds around the loop at the moment.
    struct Conditions: Hashable {
        /// Whether outputs cannot be appended at the moment: see ``StageOutlet/isFull``.
        var isLogFull = false
        /// Whether the transports accept more pushes; in virtual time, whether all pushes are answered.
        var haveTransportsRoom = true
        var hasAnswers = false
        var isStopping = false
        /// Whether another machine may have taken the log over, so that no push is handed out.
        var mayBeReplaced = false
    }

    private var past = Past.unknown
    private var turn = Turn()
    /// The last event that the stage has finished or that was set aside. For a plugin's program: the last event that
    /// came from the upstream.
    private(set) var taken: UInt64 = 0
    /// The last event whose outputs are in the log.
    private(set) var committed: UInt64 = 0
    private(set) var step: OpenStep?
    private(set) var held: HeldInput?
    /// Whether the next batch is appended even without events, for example to record a wake or the end of a step.
    private(set) var mustRecord = false

    /// How many parts one turn appends before the host serves its consumers.
    private static let turnPartsMax = 16
    /// After this many events without an output, the cursor is recorded in a batch of its own.
    private static let unrecordedMax: UInt64 = 65_536

    var phase: HostReport.Phase { past == .unknown ? .waitingForUpstream : pastEnd == nil ? .running : .rebuilding }

    // MARK: What may be done

    /// Whether the whole past was fed and the stage has the pipeline file's settings.
    @inline(__always)
    var hasCaughtUp: Bool { past == .over }

    /// The last event of the past, while the past is fed to the stage; otherwise nil.
    @inline(__always)
    var pastEnd: UInt64? { if case .feeding(let through, _) = past { through } else { nil } }

    /// The step that the log holds in part and that has not begun again.
    var resumption: UnfinishedStep? {
        switch past {
        case .feeding(_, let step): step
        case .endsIn(let step): step
        case .unknown, .whole, .over: nil
        }
    }

    /// Whether outputs are appended. While the past is fed to the stage, no outputs are appended, because the log has
    /// them already.
    var mayAppend: Bool { past == .whole || past == .over }

    func wantsInput(_ conditions: Conditions) -> Bool {
        conditions.haveTransportsRoom && !conditions.isStopping && !conditions.isLogFull && held == nil && step == nil
    }

    func mayWake(_ conditions: Conditions) -> Bool {
        hasCaughtUp && !conditions.isLogFull && step == nil && conditions.haveTransportsRoom
    }

    func mayTakeAnswers(_ conditions: Conditions) -> Bool {
        hasCaughtUp && !conditions.isLogFull && conditions.hasAnswers
    }

    func mayHandOut(_ conditions: Conditions) -> Bool {
        hasCaughtUp && !conditions.isLogFull && !conditions.isStopping && !conditions.mayBeReplaced
    }

    /// Whether held input or an unfinished step can continue.
    func mayContinue(_ conditions: Conditions) -> Bool {
        (held != nil || step != nil) && !conditions.isLogFull && conditions.haveTransportsRoom
    }

    /// Whether the past is over, the log has room, and nothing waits: no step, no held input, and no batch that must be
    /// appended.
    func isSettled(_ conditions: Conditions) -> Bool {
        hasCaughtUp && !conditions.isLogFull && step == nil && held == nil && !mustRecord
    }

    var mayAppendPart: Bool { turn.parts < Self.turnPartsMax }

    /// Whether a batch is due even without events.
    var isRecordDue: Bool { mustRecord || taken - committed >= Self.unrecordedMax }

    // MARK: Turns

    private struct Turn: Hashable {
        enum Place { case answers, firstHandOut, held, input, settling, settledHandOut, time, end, lastHandOut, over }

        var place = Place.over
        /// Whether the outputs of each input are committed, and its pushes handed out, before the next input is taken.
        var settlesEachInput = false
        var hasInput = false
        var bytes = 0
        var bytesMax = 0
        var parts = 0
    }

    /// - Parameters:
    ///   - hasInput: Whether input waits.
    ///   - bytesMax: After this many bytes of input, the turn takes no more input.
    ///   - settlesEachInput: Whether each input is handled to its end before the next one, as virtual time needs.
    mutating func beginTurn(hasInput: Bool = false, bytesMax: Int = .max, settlesEachInput: Bool = false) {
        turn = Turn(
            place: .answers, settlesEachInput: settlesEachInput, hasInput: hasInput, bytesMax: bytesMax)
    }

    /// The next action; nil at the end of the turn.
    ///
    /// Answers come first, and pushes are handed out at once, because each answer lets a transport send another push.
    /// Then come held input, new input up to the turn's limit, and deadlines. At the end the outputs are appended, and
    /// pushes are handed out again.
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
                if held != nil, conditions.haveTransportsRoom { return .takeHeld }
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

    func hasMore(_ conditions: Conditions) -> Bool {
        turn.hasInput && wantsInput(conditions) || mayTakeAnswers(conditions) || mayContinue(conditions)
    }

    mutating func noteInput(bytes: Int) { turn.bytes += bytes }

    mutating func noteNoInput() { turn.hasInput = false }

    // MARK: The past

    /// The first state of a loop that feeds no past. It continues after the event `sequence`.
    static func caughtUp(through sequence: UInt64) -> HostState {
        var state = HostState()
        (state.past, state.taken, state.committed) = (.over, sequence, sequence)
        return state
    }

    /// Called when the upstream has said what its log holds. The snapshot includes the events through `taken`. The
    /// stage's own log holds the outputs of the events through `committed`.
    mutating func begin(taken: UInt64, committed: UInt64, resuming step: UnfinishedStep?) {
        (self.taken, self.committed) = (taken, committed)
        past = .feeding(through: committed, step: step)
    }

    /// Called when all of the past was fed, except a step that the log holds in part.
    mutating func endPast() {
        guard case .feeding(let through, let step) = past else { return }
        committed = through
        past = step.map { .endsIn($0) } ?? .whole
    }

    /// Forgets the step that the log holds in part, because the stage does not repeat it.
    mutating func dropResumption() {
        if case .endsIn = past { past = .whole }
    }

    mutating func switchToCurrentSettings() { past = .over }

    // MARK: Input

    @inline(__always)
    mutating func noteTaken(through sequence: UInt64) { taken = sequence }

    /// Keeps input that must wait. No more input is taken until ``takeHeld()``.
    mutating func hold(_ input: HeldInput) { held = input }

    mutating func takeHeld() -> HeldInput? { held.take() }

    /// Called when the log records that the stage never gets the event.
    mutating func setAside(_ sequence: UInt64) { (taken, committed, mustRecord) = (sequence, sequence, false) }

    // MARK: Steps

    /// Called when the stage has begun an event, or a wake if `event` is nil, in two cases: the stage has not finished
    /// the event or wake, or the log already holds a part of its outputs. `outputsBefore` is the number of earlier
    /// events in the outbox; `next` is the sequence of the log's next event.
    mutating func beginStep(_ kind: UnfinishedStep.Kind, of event: UInt64?, behind outputsBefore: Int, next: UInt64) {
        if case .endsIn(let former) = past, former.kind == kind {
            step = OpenStep(unfinished: former, event: event, known: next - former.first)
            (past, mustRecord) = (.whole, true)
        } else {
            step = OpenStep(unfinished: UnfinishedStep(kind, first: next + UInt64(outputsBefore)), event: event)
        }
    }

    /// A repeated step gives its first outputs again. Returns how many of `count` outputs are in the log already.
    mutating func dropRecorded(of count: Int) -> Int {
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

    mutating func requireRecord() { mustRecord = true }

    /// Called when a part of a step was appended. The end of the step needs a batch too.
    mutating func notePart() { (turn.parts, mustRecord) = (turn.parts + 1, true) }

    /// Called when the outputs of all taken events, or of the events through `sequence`, were appended.
    mutating func noteAppended(through sequence: UInt64? = nil) { (committed, mustRecord) = (sequence ?? taken, false) }
}

/// One event or wake whose outputs are appended part by part.
struct OpenStep: Hashable {
    let unfinished: UnfinishedStep
    let event: UInt64?
    /// How many of the step's next outputs are already in the log because they were appended before a restart.
    var known: UInt64 = 0
}
