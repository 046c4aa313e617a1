import EventLog
import PipelineKit
import PipelineRuntime
import Time

/// Brings a machine to a moment of its stage's past, without comparing anything.
struct StageApproach {
    private let recorded: RecordedStage
    private let machine: any StageMachine
    private let feed: UpstreamFeed
    private let own: EventLogReader
    private var cursor: UInt64
    private var header: BatchHeader?
    /// The last event of the stage's own log at that moment, as the machine gave them.
    private(set) var sequence: UInt64

    init(_ recorded: RecordedStage, _ machine: any StageMachine, start: StageStart) throws {
        self.recorded = recorded
        self.machine = machine
        (cursor, sequence) = (start.cursor, start.sequence)
        feed = try recorded.feed(from: start.cursor + 1)
        own = try recorded.ownReader(after: start)
        try machine.skip(through: start.sequence)
        try step()
    }

    mutating func run(to target: StageTarget) throws {
        while let header, isBefore(target, header) {
            try feed(through: cursor, until: .distantFuture)
            try machine.advance(to: header.now)
            try machine.settle()
            count()
            try step()
        }
        let end = header == nil ? recorded.lastHarmless(after: cursor) : .max
        switch target {
        case .input(let last): try feed(through: min(last, end), until: .distantFuture)
        case .time(let time): try feed(through: header == nil ? end : cursor, until: time)
        case .end: try feed(through: end, until: .distantFuture)
        }
    }

    private func isBefore(_ target: StageTarget, _ header: BatchHeader) -> Bool {
        switch target {
        case .input(let last): cursor < last
        case .time(let time): header.now <= time
        case .end: true
        }
    }

    private mutating func step() throws {
        header = try own.nextHeader()
        try machine.begin(header)
        if let position = header?.cursor.positions[recorded.context.upstreamName] { cursor = max(cursor, position) }
    }

    private mutating func feed(through last: UInt64, until time: Instant) throws {
        while let run = try feed.run(through: last, until: time) {
            try machine.receive(run.lines, first: run.first, at: run.now)
            count()
        }
    }

    private mutating func count() {
        sequence += UInt64(machine.output.count)
        machine.output.removeAll()
    }
}
