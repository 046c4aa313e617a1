import Glibc
import Time

/// Reads a log up to its first damage, and counts the events that can be found after the damage.
struct RepairScan {
    private(set) var plan: RepairPlan
    /// The cursor and time at the end of the part that stays.
    private(set) var (cursor, lastNow) = (Cursor(), Instant.epoch)
    private let log: LogDirectory
    private let identity: LogIdentity
    private let buffer = ReadBuffer()

    init(_ log: LogDirectory, _ manifest: LogManifest) {
        plan = RepairPlan(directory: log.path, name: manifest.name)
        self.log = log
        identity = manifest.identity
    }

    /// - Throws: ``EventLogError/damaged(file:offset:sequence:reason:)`` if all segments are missing, or if the log
    ///   begins after sequence 1 and the first batch of its first segment is damaged;
    ///   ``EventLogError/unsupportedFormat(file:version:)``.
    mutating func run(_ progress: (_ bytes: UInt64) -> Void) throws(EventLogError) {
        let segments = try log.segments()
        plan.missingAtStart = try log.missingStart(segments)
        if let missing = plan.missingAtStart, segments.isEmpty {
            let reason = "\(EventLogs.reason(forMissing: missing)): restore them from a copy"
            throw .damaged(file: log.segmentPath(1), offset: 0, sequence: 1, reason: reason)
        }
        var previous: SegmentReader?
        for (index, first) in segments.enumerated() {
            let rest = segments[index...]
            if let previous, previous.nextSequence != first {
                try planCut(at: previous.problem(previous.gap(to: first)), previous, keeping: nil, cutting: rest)
                return
            }
            let segment = try SegmentReader(
                log, first, identity, lastNow: previous?.lastNow ?? .epoch, buffer: buffer)
            do throws(EventLogError) {
                guard try read(segment, isLast: rest.count == 1, progress) else { return }
            } catch .damaged(let file, let offset, let sequence, let reason) {
                let damage = VerifyReport.Problem(file: file, offset: offset, sequence: sequence, reason: reason)
                guard offset > 0 || index > 0 || first == 1 else {
                    throw segment.damaged("\(reason), and the log's cursor before it is unknown")
                }
                try planCut(at: damage, segment, keeping: offset, cutting: rest)
                return
            }
            plan.keptThrough = segment.nextSequence - 1
            previous = segment
        }
    }

    /// Reads a segment to its end. Returns false if the log ends in a torn batch.
    private mutating func read(_ segment: SegmentReader, isLast: Bool, _ progress: (UInt64) -> Void)
        throws(EventLogError) -> Bool
    {
        while true {
            switch try unsafe segment.peek() {
            case .end: return true
            case .unfinished(let reason):
                guard isLast else { throw segment.damaged("\(reason), in a segment that is not the last") }
                plan.tornTail = segment.problem(reason)
                plan.keptThrough = segment.nextSequence - 1
                plan.cuts = [try cut(segment.file, keeping: segment.offset)]
                return false
            case .batch(let batch):
                unsafe segment.consume(batch)
                unsafe cursor.fold(batch.header.cursor)
                lastNow = unsafe batch.header.now
                unsafe progress(UInt64(batch.fixed.batchBytes))
            }
        }
    }

    /// Plans the cut at the first damage, and counts the lost events.
    private mutating func planCut(
        at damage: VerifyReport.Problem, _ segment: SegmentReader, keeping offset: UInt64?,
        cutting rest: ArraySlice<UInt64>
    ) throws(EventLogError) {
        plan.damage = damage
        plan.keptThrough = segment.nextSequence - 1
        for first in rest {
            let isDamaged = offset != nil && first == rest.first
            // Of the files in `rest`, only the damaged segment's file can stay. It stays if a batch before the damage
            // is intact, or if the segment begins with sequence 1.
            let kept = isDamaged && (offset ?? 0 > 0 || first == 1) ? offset : nil
            let segment = try SegmentReader(log, first, identity, buffer: buffer)
            plan.cuts.append(try cut(segment.file, keeping: kept))
            try countLostEvents(in: segment, from: isDamaged ? offset ?? 0 : 0)
        }
        if let last = plan.lostThrough, last <= plan.keptThrough { plan.lostThrough = nil }
    }

    private mutating func countLostEvents(in segment: SegmentReader, from offset: UInt64) throws(EventLogError) {
        var position = offset
        while let (found, header) = try segment.nextHeader(from: position) {
            let last = header.firstSequence + UInt64(header.count) - 1
            plan.eventsLost += UInt64(header.count)
            plan.lostThrough = max(plan.lostThrough ?? 0, last)
            position = found + UInt64(header.batchBytes)
        }
    }

    private func cut(_ file: OpenFile, keeping kept: UInt64?) throws(EventLogError) -> RepairPlan.Cut {
        RepairPlan.Cut(file: file.path, bytesKept: kept, bytesLost: try file.size() - (kept ?? 0))
    }
}
