import EventLog
import PipelineKit
import PipelineRuntime
import Time

/// Runs a machine up to a moment of its stage's history, without comparing its outputs.
struct StageApproach {
    private let recorded: RecordedStage
    private let machine: any StageMachine
    private let feed: UpstreamFeed
    private let own: EventLogReader
    private var past: RecordedPast
    private var fed: UInt64
    private var header: BatchHeader?
    /// The sequence, in the stage's own log, of the last event that the machine has made. Each output of the machine
    /// adds one.
    private(set) var sequence: UInt64

    init(_ recorded: RecordedStage, _ machine: any StageMachine, start: StageStart) throws {
        self.recorded = recorded
        self.machine = machine
        (fed, sequence) = (start.cursor, start.sequence)
        past = RecordedPast(upstream: recorded.context.upstreamName, after: start.cursor, feedsParts: true)
        feed = try recorded.feed(from: start.cursor + 1)
        own = try recorded.ownReader(after: start)
        try machine.skip(through: start.sequence)
        try beginNextBatch()
    }

    mutating func run(to target: StageTarget) throws {
        while let header, isBatch(header, before: target) {
            while let action = past.next(fedThrough: fed), action != .readBatch { try perform(action) }
            try beginNextBatch()
        }
        let end = header == nil ? recorded.lastSafeInput(after: past.cursor) : .max
        switch target {
        case .input(let last): try feed(through: min(last, end), until: .distantFuture)
        case .time(let time): try feed(through: header == nil ? end : past.cursor, until: time)
        case .end: try feed(through: end, until: .distantFuture)
        }
    }

    private mutating func perform(_ action: RecordedPast.Action) throws {
        switch action {
        case .feed(let last):
            try feed(through: last, until: .distantFuture)
            // `fed` is set even if the upstream's log no longer has the events up to `last`. Otherwise the loop in
            // `run` would never end.
            fed = last
        case .advance(let now): try machine.advance(to: now)
        case .settle: try machine.settle()
        case .readBatch: break
        }
        countOutputs()
    }

    /// Whether the current batch comes before the target. A batch at the target's time counts as before the target.
    ///
    /// - Parameter header: The header of the current batch.
    private func isBatch(_ header: BatchHeader, before target: StageTarget) -> Bool {
        switch target {
        case .input(let last): past.cursor < last
        case .time(let time): header.now <= time
        case .end: true
        }
    }

    private mutating func beginNextBatch() throws {
        header = try own.nextHeader()
        try machine.begin(header)
        past.begin(header)
    }

    private mutating func feed(through last: UInt64, until time: Instant) throws {
        while let run = try feed.nextRun(through: last, until: time) {
            try machine.receive(run.lines, first: run.first, at: run.now)
            countOutputs()
        }
    }

    private mutating func countOutputs() {
        sequence += UInt64(machine.output.count)
        machine.output.removeAll()
    }
}
