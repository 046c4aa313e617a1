import EventLog
import Time

/// When ingest accepted each change: the time of its batch in the changes log.
struct ChangeTimes {
    private var firstSequences: [UInt64] = []
    private var times: [Instant] = []

    /// - Parameter log: The folder of the changes log.
    init(log: String) throws {
        let reader = try EventLogReader(directory: log, from: .beginning)
        while let header = try reader.nextHeader() {
            guard header.count > 0 else { continue }
            firstSequences.append(header.firstSequence)
            times.append(header.now)
        }
    }

    /// The time of the last batch that begins at or before a sequence. Nil if every batch begins after the sequence.
    subscript(sequence: UInt64) -> Instant? {
        var (low, high) = (0, firstSequences.count)
        while low < high {
            let middle = (low + high) / 2
            if firstSequences[middle] <= sequence { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? nil : times[low - 1]
    }
}
