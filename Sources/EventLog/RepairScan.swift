import Glibc
import Time

/// Reads a log up to its first damage, and what can be seen of what lies behind.
struct RepairScan {
    private(set) var plan: RepairPlan
    /// What the part that stays has come to.
    private(set) var (cursor, lastNow) = (Cursor(), Instant.epoch)
    private let log: LogDirectory
    private let identity: LogIdentity
    private let buffer = ReadBuffer()

    init(_ log: LogDirectory, _ manifest: LogManifest) {
        plan = RepairPlan(directory: log.path, name: manifest.name)
        self.log = log
        identity = manifest.identity
    }

    /// - Throws: ``EventLogError/damaged(file:offset:sequence:reason:)`` where not even a beginning is right: then the
    ///   log could not go on.
    mutating func run(_ progress: (_ bytes: UInt64) -> Void) throws(EventLogError) {
        let segments = try log.segments()
        plan.missing = try log.missingStart(segments)
        if let missing = plan.missing, segments.isEmpty {
            let reason = "\(LogDirectory.reason(forMissing: missing)): restore them from a copy"
            throw .damaged(file: log.segmentPath(1), offset: 0, sequence: 1, reason: reason)
        }
        var previous: SegmentReader?
        for (index, first) in segments.enumerated() {
            let rest = segments[index...]
            if let previous, previous.nextSequence != first {
                try stop(at: problem(previous, previous.gap(to: first)), previous, keeping: nil, cutting: rest)
                return
            }
            let segment = try reader(first, previous?.lastNow ?? .epoch)
            do throws(EventLogError) {
                guard try read(segment, isLast: rest.count == 1, progress) else { return }
            } catch .damaged(let file, let offset, let sequence, let reason) {
                let damage = VerifyReport.Problem(file: file, offset: offset, sequence: sequence, reason: reason)
                guard offset > 0 || index > 0 || first == 1 else {
                    throw segment.damaged("\(reason), and nothing before it tells what the log had come to")
                }
                try stop(at: damage, segment, keeping: offset, cutting: rest)
                return
            }
            plan.keptThrough = segment.nextSequence - 1
            previous = segment
        }
    }

    /// False where the log ends in a torn batch.
    private mutating func read(_ segment: SegmentReader, isLast: Bool, _ progress: (UInt64) -> Void)
        throws(EventLogError) -> Bool
    {
        while true {
            switch try unsafe segment.peek() {
            case .end: return true
            case .unfinished(let reason):
                guard isLast else { throw segment.damaged("\(reason), in a segment that is not the last") }
                plan.tornTail = problem(segment, reason)
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

    /// Notes what is lost from a place on.
    private mutating func stop(
        at damage: VerifyReport.Problem, _ segment: SegmentReader, keeping offset: UInt64?,
        cutting rest: ArraySlice<UInt64>
    ) throws(EventLogError) {
        plan.damage = damage
        plan.keptThrough = segment.nextSequence - 1
        for first in rest {
            let isCut = offset != nil && first == rest.first
            // A later segment of which nothing is right goes whole: the one before it tells all.
            let kept = isCut && (offset ?? 0 > 0 || first == 1) ? offset : nil
            let file = try OpenFile(log.segmentPath(first), O_RDONLY)
            plan.cuts.append(try cut(file, keeping: kept))
            try count(
                SegmentReader(file, first: first, identity: identity, buffer: buffer), from: isCut ? offset ?? 0 : 0)
        }
        if let last = plan.lostThrough, last <= plan.keptThrough { plan.lostThrough = nil }
    }

    private mutating func count(_ segment: SegmentReader, from offset: UInt64) throws(EventLogError) {
        var place = offset
        while let (found, header) = try segment.nextHeader(from: place) {
            let last = header.firstSequence + UInt64(header.count) - 1
            plan.eventsLost += UInt64(header.count)
            plan.lostThrough = max(plan.lostThrough ?? 0, last)
            place = found + UInt64(header.batchBytes)
        }
    }

    private func cut(_ file: OpenFile, keeping kept: UInt64?) throws(EventLogError) -> RepairPlan.Cut {
        RepairPlan.Cut(file: file.path, bytesKept: kept, bytesLost: try file.size() - (kept ?? 0))
    }

    private func reader(_ first: UInt64, _ lastNow: Instant) throws(EventLogError) -> SegmentReader {
        let file = try OpenFile(log.segmentPath(first), O_RDONLY)
        return SegmentReader(file, first: first, identity: identity, lastNow: lastNow, buffer: buffer)
    }

    private func problem(_ segment: SegmentReader, _ reason: String) -> VerifyReport.Problem {
        VerifyReport.Problem(
            file: segment.file.path, offset: segment.offset, sequence: segment.nextSequence, reason: reason)
    }
}
