import TestSupport
import Testing

@testable import PipelineRuntime

/// Compares a host's state with a list of everything that happened to it. Also runs a toy host with this state, and
/// checks the host's log.
struct HostStateTests {
    @Test(arguments: Seeded.seeds)
    func `after any order of events the state of a host agrees with a slow model`(seed: UInt64) {
        var draw = Seeded(seed)
        for _ in 0..<300 {
            var (state, history) = (HostState(), EventHistory())
            for _ in 0..<40 {
                history.applyRandomEvent(to: &state, &draw)
                let conditions = HostState.Conditions(&draw)
                #expect(history.difference(to: state, conditions) == nil, "\(history.events)")
            }
        }
    }

    @Test(arguments: Seeded.seeds)
    func `a turn does all allowed actions, in order, and no others`(seed: UInt64) {
        var draw = Seeded(seed)
        for _ in 0..<1_000 {
            var (state, history) = (HostState(), EventHistory())
            for _ in 0..<draw.below(30) { history.applyRandomEvent(to: &state, &draw) }
            let conditions = HostState.Conditions(&draw)
            var input = ToyInput(&draw)
            let expected = history.turn(conditions, input)
            state.beginTurn(
                hasInput: input.isAvailable, bytesMax: input.bytesMax, settlesEachInput: input.settlesEachInput)
            var done: [HostState.Action] = []
            while let action = state.next(conditions) {
                done.append(action)
                if action == .takeHeld { _ = state.takeHeld() }
                if action == .receive { input.receive(into: &state) }
            }
            #expect(done == expected, "\(history.events) \(conditions) \(input)")
        }
    }

    @Test(arguments: Seeded.seeds)
    func `each output is in the log once and in order, even if the log or a transport is full or the host dies`(
        seed: UInt64
    ) {
        var draw = Seeded(seed)
        for _ in 0..<200 {
            var world = ToyWorld(&draw)
            while !world.isDone {
                var host = ToyHost(world)
                for _ in 0..<draw.below(60) { host.turn(&draw) }
                world = host.world
                #expect(world.isLogCorrectSoFar, "\(world)")
            }
            #expect(world.outputs == world.expected, "\(world)")
        }
    }
}

extension HostState.Conditions {
    fileprivate init(_ draw: inout Seeded) {
        self.init(
            isLogFull: draw.isOneIn(3), haveTransportsRoom: !draw.isOneIn(3), hasAnswers: draw.isOneIn(2),
            isStopping: draw.isOneIn(5), mayBeReplaced: draw.isOneIn(4))
    }
}

/// The input of a turn: a number of arrivals, each of one byte.
private struct ToyInput {
    let isAvailable: Bool
    let bytesMax: Int
    let settlesEachInput: Bool
    private(set) var arrivals: Int

    init(_ draw: inout Seeded) {
        isAvailable = !draw.isOneIn(4)
        bytesMax = 1 + draw.below(5)
        settlesEachInput = draw.isOneIn(2)
        arrivals = draw.below(8)
    }

    mutating func receive(into state: inout HostState) {
        guard arrivals > 0 else { return state.noteNoInput() }
        arrivals -= 1
        state.noteInput(bytes: 1)
    }
}

/// The slow model of a host's state: a list of everything that happened. Each value is computed from the whole list.
private struct EventHistory {
    enum Event: Equatable {
        case began(committed: UInt64, step: UnfinishedStep?)
        case pastEnded, switchedSettings, droppedResumption
        case took(UInt64)
        case held, released
        case stepBegan(UnfinishedStep.Kind, event: UInt64?, known: UInt64)
        /// The step gave outputs again that are already in the log.
        case droppedRecorded(Int)
        case stepEnded
        case partAppended, recordRequired, appended
        case setAside(UInt64)
    }

    private(set) var events: [Event] = []

    private var began: (committed: UInt64, step: UnfinishedStep?)? {
        for case .began(let committed, let step) in events { return (committed, step) }
        return nil
    }
    private var hasPastEnded: Bool { events.contains(.pastEnded) }
    private var hasCaughtUp: Bool { events.contains(.switchedSettings) }
    private var isHeld: Bool { events.last { $0 == .held || $0 == .released } == .held }

    /// The step that the log holds in part, until it begins again or is dropped.
    private var resumption: UnfinishedStep? {
        guard let step = began?.step, !events.contains(.droppedResumption), !hasCaughtUp else { return nil }
        let hasBegunAgain = events.contains { event in
            if case .stepBegan(step.kind, _, _) = event { true } else { false }
        }
        return hasBegunAgain ? nil : step
    }

    private var openStep: (event: UInt64?, known: UInt64)? {
        var open: (event: UInt64?, known: UInt64)?
        for event in events {
            switch event {
            case .stepBegan(_, let event, let known): open = (event, known)
            case .droppedRecorded(let count): open?.known -= UInt64(count)
            case .stepEnded: open = nil
            default: break
            }
        }
        return open
    }

    private var taken: UInt64 {
        var (taken, open): (UInt64, UInt64?) = (0, nil)
        for event in events {
            switch event {
            case .took(let sequence), .setAside(let sequence): taken = sequence
            case .stepBegan(_, let event, _): open = event
            case .stepEnded: taken = open ?? taken
            default: break
            }
        }
        return taken
    }

    private var committed: UInt64 {
        for (index, event) in events.enumerated().reversed() {
            switch event {
            case .began(let committed, _): return committed
            case .setAside(let sequence): return sequence
            case .appended: return EventHistory(events: Array(events[..<index])).taken
            default: continue
            }
        }
        return 0
    }

    private var mustRecord: Bool {
        var must = false
        for (index, event) in events.enumerated() {
            switch event {
            case .recordRequired, .partAppended: must = true
            case .stepBegan(let kind, _, _):
                must = must || EventHistory(events: Array(events[..<index])).isResumed(by: kind)
            case .appended, .setAside: must = false
            default: break
            }
        }
        return must
    }

    private func isResumed(by kind: UnfinishedStep.Kind) -> Bool { hasPastEnded && resumption?.kind == kind }

    init() {}
    private init(events: [Event]) { self.events = events }

    /// Applies a random event to the state, one of the events that are possible now, and adds it to the list.
    mutating func applyRandomEvent(to state: inout HostState, _ draw: inout Seeded) {
        guard began != nil else {
            let committed = UInt64(draw.below(3))
            let step = draw.isOneIn(2) ? UnfinishedStep(draw.one(of: [.event, .wake]), first: 1) : nil
            state.begin(taken: 0, committed: committed, resuming: step)
            return events.append(.began(committed: committed, step: step))
        }
        switch draw.below(10) {
        case 0 where !hasPastEnded:
            state.endPast()
            events.append(.pastEnded)
        case 1 where hasPastEnded && !hasCaughtUp && resumption == nil:
            state.switchToCurrentSettings()
            events.append(.switchedSettings)
        case 2 where hasPastEnded && resumption != nil:
            state.dropResumption()
            events.append(.droppedResumption)
        case 3 where isHeld:
            _ = state.takeHeld()
            events.append(.released)
        case 4 where !isHeld && openStep == nil:
            state.hold(.time(.epoch, mark: 0))
            events.append(.held)
        case 5 where hasPastEnded && openStep == nil: begin(&state, &draw)
        case 6 where openStep != nil:
            if let known = openStep?.known, known > 0 {
                let dropped = state.dropRecorded(of: 1 + draw.below(3))
                return events.append(.droppedRecorded(dropped))
            }
            let isPart = draw.isOneIn(2)
            if isPart { state.notePart() } else { state.endStep() }
            events.append(isPart ? .partAppended : .stepEnded)
        case 7 where openStep == nil && hasPastEnded && resumption == nil:
            state.noteAppended()
            events.append(.appended)
        case 8 where openStep == nil && hasCaughtUp:
            state.setAside(taken + 1)
            events.append(.setAside(taken + 1))
        case 9 where openStep == nil:
            state.requireRecord()
            events.append(.recordRequired)
        default:
            guard openStep == nil else { return }
            state.noteTaken(through: taken + 1)
            events.append(.took(taken + 1))
        }
    }

    private mutating func begin(_ state: inout HostState, _ draw: inout Seeded) {
        let kind = draw.one(of: [UnfinishedStep.Kind.event, .wake])
        let event = kind == .event ? taken + 1 : nil
        let known = isResumed(by: kind) ? UInt64(4) : 0
        state.beginStep(kind, of: event, behind: 0, next: 5)
        events.append(.stepBegan(kind, event: event, known: known))
    }

    /// - Returns: The name of the first value in which state and list differ. Nil if all values agree.
    func difference(to state: HostState, _ conditions: HostState.Conditions) -> String? {
        let (room, full, stopping) = (conditions.haveTransportsRoom, conditions.isLogFull, conditions.isStopping)
        let isInStep = openStep != nil
        let comparisons: [(String, Bool)] = [
            ("hasCaughtUp", state.hasCaughtUp == hasCaughtUp),
            ("taken", state.taken == taken), ("committed", state.committed == committed),
            ("mustRecord", state.mustRecord == mustRecord),
            ("resumption", state.resumption == resumption),
            ("pastEnd", state.pastEnd == (hasPastEnded ? nil : began?.committed)),
            ("mayAppend", state.mayAppend == (hasPastEnded && resumption == nil)),
            ("step", (state.step != nil) == isInStep && state.step?.known ?? 0 == openStep?.known ?? 0),
            ("wantsInput", state.wantsInput(conditions) == (room && !stopping && !full && !isHeld && !isInStep)),
            ("mayWake", state.mayWake(conditions) == (hasCaughtUp && !full && !isInStep && room)),
            ("mayTakeAnswers", state.mayTakeAnswers(conditions) == (hasCaughtUp && !full && conditions.hasAnswers)),
            (
                "mayHandOut",
                state.mayHandOut(conditions) == (hasCaughtUp && !full && !stopping && !conditions.mayBeReplaced)
            ),
            ("mayContinue", state.mayContinue(conditions) == ((isHeld || isInStep) && !full && room)),
            (
                "isSettled",
                state.isSettled(conditions) == (hasCaughtUp && !full && !isInStep && !isHeld && !mustRecord)
            ),
            ("phase", state.phase == (began == nil ? .waitingForUpstream : hasPastEnded ? .running : .rebuilding)),
        ]
        return comparisons.first { !$0.1 }?.0
    }

    /// The actions of a turn under constant conditions.
    func turn(_ conditions: HostState.Conditions, _ input: ToyInput) -> [HostState.Action] {
        let (room, full, stopping) = (conditions.haveTransportsRoom, conditions.isLogFull, conditions.isStopping)
        let mayHandOut = hasCaughtUp && !full && !stopping && !conditions.mayBeReplaced
        let handOut: [HostState.Action] = mayHandOut ? [.handOut] : []
        let takesInput = input.isAvailable && room && !full && !stopping && openStep == nil
        var actions: [HostState.Action] = hasCaughtUp && !full && conditions.hasAnswers ? [.takeAnswers] : []
        actions += handOut
        if isHeld, room { actions.append(.takeHeld) }
        if takesInput {
            for _ in 0..<min(input.arrivals, input.bytesMax) {
                actions.append(.receive)
                if input.settlesEachInput { actions += [.commit] + handOut }
            }
            if input.arrivals < input.bytesMax { actions.append(.receive) }
        }
        if hasCaughtUp, !full, room, openStep == nil { actions.append(.wake) }
        return actions + [.commit] + handOut
    }
}

/// The data that survives a host: its input, and its log with the cursor of the last batch.
private struct ToyWorld {
    /// The stage's outputs for each event, in parts.
    let parts: [[[Int]]]
    fileprivate(set) var outputs: [Int] = []
    fileprivate(set) var committed: UInt64 = 0
    /// The unfinished step at the end of the log.
    fileprivate(set) var unfinished: UnfinishedStep?

    var expected: [Int] { parts.flatMap { $0.flatMap(\.self) } }
    var isDone: Bool { committed == UInt64(parts.count) && unfinished == nil }
    var isLogCorrectSoFar: Bool { expected.starts(with: outputs) }

    init(_ draw: inout Seeded) {
        var next = 0
        parts = (0..<1 + draw.below(8)).map { _ in
            (0..<1 + draw.below(4)).map { _ in
                (0..<draw.below(4)).map { _ in
                    next += 1
                    return next
                }
            }
        }
    }
}

/// A host that only has a ``HostState``, and acts on it as `ConsumerLoop` does.
private struct ToyHost {
    private(set) var world: ToyWorld
    private var state = HostState()
    /// Outputs that are not in the log yet.
    private var out: [Int] = []
    /// The remaining parts of the open step.
    private var remainingParts: [[Int]] = []

    init(_ world: ToyWorld) {
        self.world = world
        state.begin(taken: 0, committed: world.committed, resuming: world.unfinished)
    }

    mutating func turn(_ draw: inout Seeded) {
        let conditions = HostState.Conditions(isLogFull: draw.isOneIn(4), haveTransportsRoom: !draw.isOneIn(4))
        if let end = state.pastEnd {
            state.noteTaken(through: end)
            state.endPast()
        }
        state.beginTurn(hasInput: true, settlesEachInput: draw.isOneIn(2))
        while let action = state.next(conditions) { perform(action, conditions, &draw) }
    }

    private mutating func perform(
        _ action: HostState.Action, _ conditions: HostState.Conditions, _ draw: inout Seeded
    ) {
        switch action {
        case .takeHeld:
            appendParts(conditions)
            if state.step == nil { _ = state.takeHeld() }
        case .receive:
            guard state.taken < UInt64(world.parts.count), !draw.isOneIn(3) else { return state.noteNoInput() }
            feed(state.taken + 1)
            appendParts(conditions)
            if state.step == nil, draw.isOneIn(4) { state.hold(.time(.epoch, mark: 0)) }
        case .commit:
            appendParts(conditions)
            if state.step == nil { commit(conditions) }
        case .takeAnswers, .handOut, .wake: break
        }
    }

    private mutating func feed(_ sequence: UInt64) {
        let eventParts = world.parts[Int(sequence) - 1]
        let before = out.count
        out += eventParts[0]
        remainingParts = Array(eventParts.dropFirst())
        if state.resumption != nil || !remainingParts.isEmpty {
            state.beginStep(.event, of: sequence, behind: before, next: UInt64(world.outputs.count) + 1)
        } else {
            state.noteTaken(through: sequence)
        }
    }

    /// Appends the parts of the open step, as long as the log has room and the turn may append parts. The last part
    /// stays in `out` for the next commit.
    private mutating func appendParts(_ conditions: HostState.Conditions) {
        guard let step = state.step else { return }
        out.removeFirst(state.dropRecorded(of: out.count))
        while !remainingParts.isEmpty {
            if !out.isEmpty {
                guard !conditions.isLogFull, state.mayAppendPart else { return }
                world.outputs += out
                (world.committed, world.unfinished) = (state.taken, step.unfinished)
                out = []
                state.notePart()
            }
            out += remainingParts.removeFirst()
            out.removeFirst(state.dropRecorded(of: out.count))
        }
        state.endStep()
    }

    private mutating func commit(_ conditions: HostState.Conditions) {
        guard state.mayAppend, !conditions.isLogFull else { return }
        if !out.isEmpty || state.mustRecord || state.taken > state.committed {
            world.outputs += out
            (world.committed, world.unfinished, out) = (state.taken, nil, [])
            state.noteAppended()
        }
        if !state.hasCaughtUp { state.switchToCurrentSettings() }
    }
}
