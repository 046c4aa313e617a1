import EventLog
import Inspect
import JSON
import PipelineRuntime

/// Prints the events of a log from one point to another.
struct LogShow {
    let printer: EventPrinter
    var filter: EventFilter?
    let from: LogPoint?
    let until: LogPoint?
    var eventsLeft: UInt64
    let follows: Bool
    private(set) var printed: UInt64 = 0

    mutating func run(_ directory: String) throws {
        let reader = try EventLogReader(directory: directory, from: from?.start ?? .beginning)
        var first: UInt64 = 1
        if case .sequence(let sequence) = from { first = sequence }
        var parser = JSONParser(limits: JSONLimits(bytesMax: EventLogLimits.eventBytesMax, depthMax: 512))
        while eventsLeft > 0 {
            if let batch = try reader.next() {
                if until?.isBefore(batch.header) == true { return }
                let next = batch.header.nextSequence
                try show(batch, from: first, &parser)
                if case .sequence(let last) = until, last < next { return }
            } else {
                guard follows else { return }
                _ = try reader.waitForMore()
            }
        }
    }

    private mutating func show(_ batch: EventLogReader.Batch, from first: UInt64, _ parser: inout JSONParser) throws {
        let start = max(first, batch.header.firstSequence)
        var end = batch.header.nextSequence
        if case .sequence(let last) = until, last < end { end = last + 1 }
        guard start < end else { return }
        let lines = Lines(EventLogReader.slice(batch.body, header: batch.header, from: start)).prefix(Int(end - start))
        guard let filter else {
            let count = min(eventsLeft, end - start)
            try printer.print(lines.prefix(Int(count)), first: start, now: batch.header.now)
            eventsLeft -= count
            printed += count
            return
        }
        for (line, sequence) in zip(lines, start...) where eventsLeft > 0 {
            guard try filter.accepts(parser.parse(line)) else { continue }
            try printer.print(CollectionOfOne(line), first: sequence, now: batch.header.now)
            eventsLeft -= 1
            printed += 1
        }
    }
}
