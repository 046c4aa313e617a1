import EventLog
import TestSupport
import Testing
import Time

@testable import PipelineRuntime

/// Compares the inputs of a stage with the inputs that ``RecordedPast`` finds in the batches of the stage's log.
struct RecordedPastTests {
    @Test(arguments: Seeded.seeds)
    func `feeding batch by batch repeats what the stage did, in the same order and at the same times`(seed: UInt64) {
        var draw = Seeded(seed)
        for _ in 0..<500 {
            let history = StageHistory(&draw)
            #expect(history.repeated(feedsParts: true) == history.inputs, "\(history.headers)")
        }
    }

    @Test(arguments: Seeded.seeds)
    func `feeding event by event repeats what the stage did, in the same order and at the same times`(seed: UInt64) {
        var draw = Seeded(seed)
        for _ in 0..<500 {
            let history = StageHistory(&draw)
            #expect(history.repeatedEventByEvent(feedsParts: true) == history.inputs, "\(history.headers)")
            // Without `feedsParts`, an event whose outputs fill several batches is fed only when the last of these
            // batches is reached, after the answers that the earlier batches record. So this comparison leaves out all
            // answers.
            let withoutAnswers = history.inputs.filter { !$0.isAnswers }
            #expect(history.repeatedEventByEvent(feedsParts: false).filter { !$0.isAnswers } == withoutAnswers)
        }
    }

    @Test func `a stage that starts from a snapshot is fed only the later part of its past`() {
        var past = RecordedPast(upstream: "changes", after: 7, feedsParts: true)
        past.begin(BatchHeader(firstSequence: 1, count: 1, now: .epoch, cursor: Cursor(["changes": 5]), bodyBytes: 0))
        #expect(past.next(fedThrough: 7) == .advance(to: .epoch))
        #expect(past.next(fedThrough: 7) == .settle)
        #expect(past.next(fedThrough: 7) == .readBatch)
        past.begin(BatchHeader(firstSequence: 2, count: 1, now: .epoch, cursor: Cursor(["changes": 9]), bodyBytes: 0))
        #expect(past.next(fedThrough: 7) == .feed(through: 9))
        past.begin(nil)
        #expect(past.next(fedThrough: 9) == nil)
    }
}

private enum StageInput: Equatable {
    case event(UInt64, at: Instant)
    /// The answers that the batch records.
    case answers(batch: Int, at: Instant)

    var isAnswers: Bool { if case .answers = self { true } else { false } }
}

/// Random inputs of a stage, and the headers of the batches that the stage writes.
private struct StageHistory {
    private(set) var inputs: [StageInput] = []
    private(set) var headers: [BatchHeader] = []
    /// The wake that wrote the last batches, if the stage died before this wake ended.
    private(set) var tornWake: UnfinishedStep?
    private var now = Instant.epoch
    private var fed: UInt64 = 0
    private var next: UInt64 = 1
    private var cursor = Cursor()

    init(_ draw: inout Seeded) {
        for _ in 0..<draw.below(20) {
            switch draw.below(4) {
            case 0: wake(&draw)
            case 1: takePartwise(&draw)
            default: takeEvent()
            }
            if draw.isOneIn(3) { append(&draw) }
        }
        append(&draw)
        if draw.isOneIn(3) { dieInWake(&draw) }
    }

    private mutating func takeEvent() {
        fed += 1
        inputs.append(.event(fed, at: now))
    }

    /// Time moves, and the stage records the new time before the next input.
    private mutating func wake(_ draw: inout Seeded) {
        append(&draw)
        now = now.advanced(by: .seconds(1 + draw.below(3)))
        append(&draw)
    }

    private mutating func takePartwise(_ draw: inout Seeded) {
        append(&draw)
        inputs.append(.event(fed + 1, at: now))
        let step = UnfinishedStep(.event, first: next)
        for _ in 0...draw.below(3) { append(&draw, step) }
        fed += 1
        append(&draw)
    }

    private mutating func dieInWake(_ draw: inout Seeded) {
        let step = UnfinishedStep(.wake, first: next)
        (tornWake, now) = (step, now.advanced(by: .seconds(1)))
        let known = inputs
        for _ in 0...draw.below(3) { append(&draw, step, atLeast: 1) }
        inputs = known
    }

    private mutating func append(_ draw: inout Seeded, _ step: UnfinishedStep? = nil, atLeast: Int = 0) {
        let count = atLeast + draw.below(3)
        let entry = Cursor("changes", fed, unfinished: step, past: cursor)
        cursor.positions.merge(entry.positions) { $1 }
        headers.append(BatchHeader(firstSequence: next, count: count, now: now, cursor: entry, bodyBytes: 0))
        next += UInt64(count)
        inputs.append(.answers(batch: headers.count - 1, at: now))
    }

    private func past(feedsParts: Bool) -> RecordedPast {
        RecordedPast(upstream: "changes", after: 0, feedsParts: feedsParts, leavingOut: tornWake)
    }

    /// The inputs of a replay.
    func repeated(feedsParts: Bool) -> [StageInput] {
        var (past, repetition) = (past(feedsParts: feedsParts), Repetition())
        while let action = past.next(fedThrough: repetition.fed) { repetition.perform(action, &past, headers) }
        return repetition.inputs
    }

    /// The inputs that a host repeats when it rebuilds its stage. The upstream sends the events one by one.
    func repeatedEventByEvent(feedsParts: Bool) -> [StageInput] {
        var (past, repetition) = (past(feedsParts: feedsParts), Repetition())
        for sequence in 1..<fed + 1 {
            repeatRecorded(before: sequence, &repetition, &past)
            repetition.feed(sequence)
        }
        repeatRecorded(before: .max, &repetition, &past)
        return repetition.inputs
    }

    private func repeatRecorded(before sequence: UInt64, _ repetition: inout Repetition, _ past: inout RecordedPast) {
        while let action = past.next(fedThrough: sequence - 1) {
            if case .feed = action { return }
            repetition.perform(action, &past, headers)
        }
    }
}

/// The inputs that a repetition has made so far.
private struct Repetition {
    private(set) var inputs: [StageInput] = []
    private(set) var fed: UInt64 = 0
    private var now = Instant.epoch
    private var batch = -1

    mutating func feed(_ sequence: UInt64) {
        fed = sequence
        inputs.append(.event(sequence, at: now))
    }

    mutating func perform(_ action: RecordedPast.Action, _ past: inout RecordedPast, _ headers: [BatchHeader]) {
        switch action {
        case .feed(let last): while fed < last { feed(fed + 1) }
        case .advance(let time): now = time
        case .settle: inputs.append(.answers(batch: batch, at: now))
        case .readBatch:
            batch += 1
            past.begin(batch < headers.count ? headers[batch] : nil)
        }
    }
}
