import EventLog
import PipelineRuntime
import Time

/// Reads a stage's input in runs of consecutive events. A run ends where the caller wants, at the end of a batch, or
/// before a skipped event.
final class UpstreamFeed {
    /// Consecutive events of one batch.
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
    /// Events to skip, the next one first.
    private var toSkip: ArraySlice<UInt64>
    private var skipped: [UInt64] = []

    /// - Parameters:
    ///   - first: The first event to read.
    ///   - toSkip: Events to skip, in log order: see ``RecordedStage/setAside``.
    init(log: String, from first: UInt64 = 1, skipping toSkip: [UInt64] = []) throws(EventLogError) {
        reader = try EventLogReader(directory: log, from: .sequence(first))
        next = first
        self.toSkip = toSkip.drop { $0 < first }
    }

    /// The events that were skipped since the last call.
    func takeSkipped() -> [UInt64] {
        defer { skipped = [] }
        return skipped
    }

    /// The next events of one batch, up to `last`; nil after `last` and at the end of the log. The result is valid
    /// until the next call.
    ///
    /// - Parameter time: The result is nil at a batch that is later than this time.
    func nextRun(through last: UInt64, until time: Instant = .distantFuture) throws(EventLogError) -> Run? {
        while next <= last {
            while batch == nil || next > batch?.header.lastSequence ?? 0 {
                guard let read = try reader.next() else { return nil }
                offset =
                    read.header.firstSequence < next
                    ? read.body.byteCount(ofLines: Int(next - read.header.firstSequence)) : 0
                batch = read
            }
            guard let batch, batch.header.now <= time else { return nil }
            guard let unwanted = toSkip.first, unwanted <= last else { return cut(batch, through: last) }
            if next < unwanted { return cut(batch, through: unwanted - 1) }
            _ = cut(batch, through: unwanted)
            skipped.append(unwanted)
            toSkip.removeFirst()
        }
        return nil
    }

    private func cut(_ batch: EventLogReader.Batch, through last: UInt64) -> Run {
        let end = min(last, batch.header.lastSequence)
        let count = Int(end - next + 1)
        let rest = UnsafeRawBufferPointer(rebasing: batch.body[offset...])
        let bytes = end == batch.header.lastSequence ? rest.count : rest.byteCount(ofLines: count)
        defer { (offset, next) = (offset + bytes, end + 1) }
        return Run(
            lines: UnsafeRawBufferPointer(rebasing: rest[..<bytes]), first: next, count: count, now: batch.header.now)
    }
}

extension UnsafeRawBufferPointer {
    /// How many bytes the first lines have, line feeds included; the size of the buffer if it has fewer lines.
    func byteCount(ofLines lines: Int) -> Int {
        var (rest, bytes) = (Lines(self), 0)
        for _ in 0..<lines {
            guard let line = rest.next() else { break }
            bytes += line.count + 1
        }
        return Swift.min(bytes, count)
    }
}
