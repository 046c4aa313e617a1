import EventLog
import PipelineRuntime

/// A stage's input, cut where the stage's own log says.
final class UpstreamFeed {
    /// Events of one batch.
    struct Run {
        var lines: UnsafeRawBufferPointer
        var first: UInt64
        var count: Int
        var now: Instant
    }

    private let reader: EventLogReader
    private var batch: EventLogReader.Batch?
    private var offset = 0
    /// The sequence of the next event.
    private(set) var next: UInt64

    /// - Parameter first: The first event to read.
    init(log: String, from first: UInt64 = 1) throws(EventLogError) {
        reader = try EventLogReader(directory: log, from: .sequence(first))
        next = first
    }

    /// The next events up to a sequence, as many as stand in one batch; nil when all were given, or the log ends. Valid
    /// until the next call.
    ///
    /// - Parameter time: Batches that are later wait too.
    func run(through last: UInt64, until time: Instant = .distantFuture) throws(EventLogError) -> Run? {
        guard next <= last else { return nil }
        while batch == nil || next > batch?.header.lastSequence ?? 0 {
            guard let read = try reader.next() else { return nil }
            offset = read.header.firstSequence < next ? start(of: next, in: read) : 0
            batch = read
        }
        guard let batch, batch.header.now <= time else { return nil }
        return cut(batch, through: last)
    }

    private func cut(_ batch: EventLogReader.Batch, through last: UInt64) -> Run {
        let end = min(last, batch.header.lastSequence)
        let count = Int(end - next + 1)
        let rest = UnsafeRawBufferPointer(rebasing: batch.body[offset...])
        let bytes = end == batch.header.lastSequence ? rest.count : rest.count(ofLines: count)
        defer { (offset, next) = (offset + bytes, end + 1) }
        return Run(
            lines: UnsafeRawBufferPointer(rebasing: rest[..<bytes]), first: next, count: count, now: batch.header.now)
    }

    private func start(of sequence: UInt64, in batch: EventLogReader.Batch) -> Int {
        batch.body.count(ofLines: Int(sequence - batch.header.firstSequence))
    }
}

extension UnsafeRawBufferPointer {
    /// How many bytes that many lines take, with their line feeds; all where there are fewer.
    func count(ofLines lines: Int) -> Int {
        var (rest, bytes) = (Lines(self), 0)
        for _ in 0..<lines {
            guard let line = rest.next() else { break }
            bytes += line.count + 1
        }
        return Swift.min(bytes, count)
    }
}
