import EventLog
import Time

/// When each change was accepted: its batch's time.
struct ChangeTimes {
    private var firsts: [UInt64] = []
    private var times: [Instant] = []

    /// None.
    init() {}

    init(log: String) throws {
        let reader = try EventLogReader(directory: log, from: .beginning)
        while let header = try reader.nextHeader() {
            guard header.count > 0 else { continue }
            firsts.append(header.firstSequence)
            times.append(header.now)
        }
    }

    /// The last batch that begins at or before a sequence holds it.
    subscript(sequence: UInt64) -> Instant? {
        var (low, high) = (0, firsts.count)
        while low < high {
            let middle = (low + high) / 2
            if firsts[middle] <= sequence { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? nil : times[low - 1]
    }
}
