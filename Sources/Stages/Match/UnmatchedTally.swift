import Events
import JSON
import PipelineKit
import Time

/// Counts the changes that no subscription watches, and writes the count for each range of upstream sequences.
///
/// A range ends at the next multiple of 1000, or one second after its first unmatched change if that is earlier. A
/// range without unmatched changes is not written.
struct UnmatchedTally {
    static let rangeLength: UInt64 = 1000
    static let delay = Duration.seconds(1)

    /// The first sequence of the current range.
    private var first: UInt64 = 0
    /// The sequence of the last event that was received; 0 before the first event.
    private var last: UInt64 = 0
    /// The number of unmatched changes in the current range.
    private var count: UInt64 = 0
    /// The latest time at which the current range ends; nil while the range has no unmatched change.
    private(set) var deadline: Instant?

    /// Ends the previous range if the sequence is beyond it. This is necessary if the stage received no event with the
    /// last sequence of the range.
    @inline(__always)
    mutating func begin(_ sequence: UInt64, into out: inout Outbox) {
        let isFirst = last == 0
        if !isFirst, UnmatchedTally.end(of: sequence) != UnmatchedTally.end(of: last) {
            close(at: UnmatchedTally.end(of: last), into: &out)
            first = UnmatchedTally.end(of: sequence) - UnmatchedTally.rangeLength + 1
        }
        if isFirst { first = sequence }
        last = sequence
    }

    mutating func add(at now: Instant) {
        if count == 0 { deadline = now.advanced(by: UnmatchedTally.delay) }
        count += 1
    }

    /// Ends the range if the sequence is the last sequence of the range.
    @inline(__always)
    mutating func end(_ sequence: UInt64, into out: inout Outbox) {
        if sequence == UnmatchedTally.end(of: sequence) { close(at: sequence, into: &out) }
    }

    /// Ends the current range at the last event that was received.
    mutating func wake(into out: inout Outbox) { close(at: last, into: &out) }

    private mutating func close(at end: UInt64, into out: inout Outbox) {
        if count > 0 {
            out.append { buffer in
                buffer.begin(event: EventName.notMatched)
                buffer.append(member: .first)
                buffer.appendJSON(first)
                buffer.append(member: .last)
                buffer.appendJSON(end)
                buffer.append(member: .count)
                buffer.appendJSON(count)
                buffer.append("}")
            }
        }
        (first, count, deadline) = (end + 1, 0, nil)
    }

    private static func end(of sequence: UInt64) -> UInt64 {
        (sequence + rangeLength - 1) / rangeLength * rangeLength
    }
}

// MARK: - Snapshots

extension UnmatchedTally {
    func write(into snapshot: inout SnapshotWriter) {
        snapshot.write(first)
        snapshot.write(last)
        snapshot.write(count)
        snapshot.write(deadline) { $1.write($0) }
    }

    mutating func read(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        first = try snapshot.number()
        last = try snapshot.number()
        count = try snapshot.number()
        deadline = try snapshot.optional { snapshot throws(SnapshotError) in try snapshot.instant() }
        let isPossible = last <= Int64.max && count <= last && (count > 0) == (deadline != nil)
        guard isPossible else { throw snapshot.error("the count of unmatched changes is invalid") }
    }
}
