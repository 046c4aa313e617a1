import ArgumentParser
import EventLog
import PipelineRuntime

struct LogShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Prints a log's events.",
        discussion: """
            One line an event: coloured for people on a terminal, else {"sequence":17,"now":"...","event":{...}}.

              belfry log show changes -p Pipelines/quickstart.yaml
              belfry log show matches -p Pipelines/quickstart.yaml --from 100 --limit 20
              belfry log show out/matches --from 2026-11-20T09:30:00Z --limit 20
              belfry log show out/pushes --follow | jq -c .event.payload
            """)

    @Argument(help: "A log's folder, or its name below a place.", completion: .directory)
    var log: String

    @Option(
        name: .shortAndLong, help: "The place that LOG is a name in: a pipeline file or a folder.", completion: .file())
    var pipeline: String?

    @Option(help: "Begin with this sequence, or at this time (RFC 3339).")
    var from: LogPosition?

    @Option(help: "End with this sequence, or with what happened at this time (RFC 3339).")
    var until: LogPosition?

    @Option(help: "Stop after this many events.")
    var limit: UInt64?

    @Flag(name: .shortAndLong, help: "Wait for more at the end.")
    var follow = false

    @Flag(help: "Print the events alone, without sequence and time.")
    var bare = false

    func validate() throws {
        if limit == 0 { throw ValidationError("--limit takes a number from 1 on") }
    }

    func run() throws {
        let directory = try LogPlace.log(log, pipeline: pipeline)
        var show = LogShow(printer: .standard(bare: bare), until: until, left: limit ?? .max, follows: follow)
        try show.run(try EventLogReader(directory: directory, from: from?.start ?? .beginning), from: from)
    }
}

/// A place in a log as a user names it.
enum LogPosition: ExpressibleByArgument, Equatable {
    case sequence(UInt64)
    case time(Instant)

    init?(argument: String) {
        if let sequence = UInt64(argument) {
            guard sequence > 0 else { return nil }
            self = .sequence(sequence)
        } else if let time = Instant(rfc3339: argument) {
            self = .time(time)
        } else {
            return nil
        }
    }

    var start: EventLogReader.Start {
        switch self {
        case .sequence(let sequence): .sequence(sequence)
        case .time(let time): .time(time)
        }
    }
}

/// Prints a part of a log.
struct LogShow {
    let printer: EventPrinter
    let until: LogPosition?
    var left: UInt64
    let follows: Bool

    mutating func run(_ reader: EventLogReader, from: LogPosition?) throws {
        var first: UInt64 = 1
        if case .sequence(let sequence) = from { first = sequence }
        while left > 0 {
            if let batch = try reader.next() {
                guard !isBeyond(batch.header) else { return }
                try show(batch, from: first)
            } else {
                guard follows else { return }
                _ = try reader.waitForMore()
            }
        }
    }

    private func isBeyond(_ header: BatchHeader) -> Bool {
        switch until {
        case .sequence(let last): header.firstSequence > last
        case .time(let last): header.now > last
        case nil: false
        }
    }

    private mutating func show(_ batch: EventLogReader.Batch, from first: UInt64) throws {
        let start = max(first, batch.header.firstSequence)
        guard start < batch.header.nextSequence else { return }
        var count = min(left, batch.header.nextSequence - start)
        if case .sequence(let last) = until { count = min(count, last + 1 - start) }
        let lines = EventLogReader.slice(batch.body, header: batch.header, from: start)
        try printer.print(Lines(lines).prefix(Int(count)), first: start, now: batch.header.now)
        left -= count
    }
}
