import EventLog
import TestSupport
import Testing
import Time

@testable import PipelineRuntime

/// Compares what a stage did with what its log's batches record.
struct RecordedPastTests {
    @Test(arguments: Seeded.seeds)
    func `feeding batch by batch repeats what the stage did, in order and at its times`(seed: UInt64) {
        var draw = Seeded(seed)
        for _ in 0..<500 {
            let life = StageLife(&draw)
            #expect(life.lived(feedsParts: true) == life.deeds, "\(life.headers)")
        }
    }

    @Test(arguments: Seeded.seeds)
    func `feeding event by event repeats what the stage did before each event`(seed: UInt64) {
        var draw = Seeded(seed)
        for _ in 0..<500 {
            let life = StageLife(&draw)
            #expect(life.livedEventByEvent(feedsParts: true) == life.deeds, "\(life.headers)")
            let withoutAnswers = life.deeds.filter { !$0.isAnswers }
            #expect(life.livedEventByEvent(feedsParts: false).filter { !$0.isAnswers } == withoutAnswers)
        }
    }

    @Test func `from a snapshot only the later part of the past is fed`() {
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

private enum Deed: Equatable {
    case event(UInt64, at: Instant)
    /// The answers that the batch records.
    case answers(batch: Int, at: Instant)

    var isAnswers: Bool { if case .answers = self { true } else { false } }
}

/// What a stage does for a while, and the headers of its batches.
private struct StageLife {
    private(set) var deeds: [Deed] = []
    private(set) var headers: [BatchHeader] = []
    /// The step of the last batches, if the stage died in the middle of a wake.
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
            default: take()
            }
            if draw.isOneIn(3) { append(&draw) }
        }
        append(&draw)
        if draw.isOneIn(3) { dieInWake(&draw) }
    }

    private mutating func take() {
        fed += 1
        deeds.append(.event(fed, at: now))
    }

    /// Time moves, and the stage records it before the next input.
    private mutating func wake(_ draw: inout Seeded) {
        append(&draw)
        now = now.advanced(by: .seconds(1 + draw.below(3)))
        append(&draw)
    }

    private mutating func takePartwise(_ draw: inout Seeded) {
        append(&draw)
        deeds.append(.event(fed + 1, at: now))
        let step = UnfinishedStep(.event, first: next)
        for _ in 0...draw.below(3) { append(&draw, step) }
        fed += 1
        append(&draw)
    }

    private mutating func dieInWake(_ draw: inout Seeded) {
        let step = UnfinishedStep(.wake, first: next)
        (tornWake, now) = (step, now.advanced(by: .seconds(1)))
        let known = deeds
        for _ in 0...draw.below(3) { append(&draw, step, atLeast: 1) }
        deeds = known
    }

    private mutating func append(_ draw: inout Seeded, _ step: UnfinishedStep? = nil, atLeast: Int = 0) {
        let count = atLeast + draw.below(3)
        let entry = Cursor("changes", fed, unfinished: step, past: cursor)
        cursor.positions.merge(entry.positions) { $1 }
        headers.append(BatchHeader(firstSequence: next, count: count, now: now, cursor: entry, bodyBytes: 0))
        next += UInt64(count)
        deeds.append(.answers(batch: headers.count - 1, at: now))
    }

    private func past(feedsParts: Bool) -> RecordedPast {
        RecordedPast(upstream: "changes", after: 0, feedsParts: feedsParts, leavingOut: tornWake)
    }

    /// Repeats it as a replay does.
    func lived(feedsParts: Bool) -> [Deed] {
        var (past, life) = (past(feedsParts: feedsParts), SecondLife())
        while let action = past.next(fedThrough: life.fed) { life.perform(action, &past, headers) }
        return life.deeds
    }

    /// Repeats it as a host does: its upstream sends one event after the other.
    func livedEventByEvent(feedsParts: Bool) -> [Deed] {
        var (past, life) = (past(feedsParts: feedsParts), SecondLife())
        for sequence in 1..<fed + 1 {
            live(before: sequence, &life, &past)
            life.feed(sequence)
        }
        live(before: .max, &life, &past)
        return life.deeds
    }

    private func live(before sequence: UInt64, _ life: inout SecondLife, _ past: inout RecordedPast) {
        while let action = past.next(fedThrough: sequence - 1) {
            if case .feed = action { return }
            life.perform(action, &past, headers)
        }
    }
}

/// The actions of a repetition.
private struct SecondLife {
    private(set) var deeds: [Deed] = []
    private(set) var fed: UInt64 = 0
    private var now = Instant.epoch
    private var batch = -1

    mutating func feed(_ sequence: UInt64) {
        fed = sequence
        deeds.append(.event(sequence, at: now))
    }

    mutating func perform(_ action: RecordedPast.Action, _ past: inout RecordedPast, _ headers: [BatchHeader]) {
        switch action {
        case .feed(let last): while fed < last { feed(fed + 1) }
        case .advance(let time): now = time
        case .settle: deeds.append(.answers(batch: batch, at: now))
        case .readBatch:
            batch += 1
            past.begin(batch < headers.count ? headers[batch] : nil)
        }
    }
}
