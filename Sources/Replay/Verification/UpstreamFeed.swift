import EventLog
import PipelineRuntime
import Time

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
    /// What the stage never gets, the next one first.
    private var leftOut: ArraySlice<UInt64>
    /// What of these was passed over.
    private var passedOver: [UInt64] = []

    /// - Parameters:
    ///   - first: The first event to read.
    ///   - leftOut: Events that are passed over, in their order: see ``RecordedStage/setAside``.
    init(log: String, from first: UInt64 = 1, leavingOut leftOut: [UInt64] = []) throws(EventLogError) {
        reader = try EventLogReader(directory: log, from: .sequence(first))
        next = first
        self.leftOut = leftOut.drop { $0 < first }
    }

    /// What was passed over since the last call.
    func takePassedOver() -> [UInt64] {
        defer { passedOver = [] }
        return passedOver
    }

    /// The next events up to a sequence, as many as stand in one batch; nil when all were given, or the log ends. Valid
    /// until the next call.
    ///
    /// - Parameter time: Batches that are later wait too.
    func run(through last: UInt64, until time: Instant = .distantFuture) throws(EventLogError) -> Run? {
        while next <= last {
            while batch == nil || next > batch?.header.lastSequence ?? 0 {
                guard let read = try reader.next() else { return nil }
                offset = read.header.firstSequence < next ? start(of: next, in: read) : 0
                batch = read
            }
            guard let batch, batch.header.now <= time else { return nil }
            guard let out = leftOut.first, out <= last else { return cut(batch, through: last) }
            if next < out { return cut(batch, through: out - 1) }
            _ = cut(batch, through: out)
            passedOver.append(out)
            leftOut.removeFirst()
        }
        return nil
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
