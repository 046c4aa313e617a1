import Glibc

extension EventLogs {
    /// Reads all of a log and reports what is wrong: every CRC, that sequences have no gaps, that `now` never goes
    /// back, that each batch holds as many lines as it says, and that each line begins with `{` and ends with `}`.
    ///
    /// Behind damage it goes on at the next batch that is right in itself. May run beside a writer, but then a batch
    /// that is just being written counts as a torn tail.
    ///
    /// - Parameters:
    ///   - directory: The log's own folder.
    ///   - progress: Called after each batch.
    /// - Throws: ``EventLogError/notALog(directory:)``, and what keeps the log from being read at all.
    public static func verify(directory: String, progress: (VerifyReport) -> Void = { _ in })
        throws(EventLogError) -> VerifyReport
    {
        let log = LogDirectory(path: directory)
        guard let manifest = try LogManifest.read(in: log) else { throw .notALog(directory: directory) }
        var verification = Verification(log, manifest.identity, try log.segments())
        try verification.run(progress)
        return verification.report
    }
}

/// What a verification found.
public struct VerifyReport: Hashable, Sendable {
    public struct Problem: Hashable, Sendable {
        public var file: String
        public var offset: UInt64
        /// The first event that the problem concerns.
        public var sequence: UInt64
        public var reason: String
    }

    public var segments = 0
    public var batches: UInt64 = 0
    /// Events read, with right CRCs.
    public var events: UInt64 = 0
    /// Bytes of the batches read.
    public var bytes: UInt64 = 0
    /// Damage, in the order in which it was found.
    public var problems: [Problem] = []
    /// A last batch that is not whole. A writer cuts it off when it opens the log; no event before it is lost.
    public var tornTail: Problem?

    public var isSound: Bool { problems.isEmpty && tornTail == nil }
}

private struct Verification {
    var report = VerifyReport()
    private let log: LogDirectory
    private let identity: LogIdentity
    private let segments: [UInt64]
    private let buffer = ReadBuffer()

    init(_ log: LogDirectory, _ identity: LogIdentity, _ segments: [UInt64]) {
        self.log = log
        self.identity = identity
        self.segments = segments
    }

    mutating func run(_ progress: (VerifyReport) -> Void) throws(EventLogError) {
        var previous: SegmentReader?
        for first in segments {
            let file = try OpenFile(log.segmentPath(first), O_RDONLY)
            let segment = SegmentReader(
                file, first: first, identity: identity, lastNow: previous?.lastNow ?? .epoch, buffer: buffer)
            if let previous, previous.nextSequence != first {
                note(previous, "the next segment begins with sequence \(first)")
            }
            try read(segment, isLast: first == segments.last, progress)
            report.segments += 1
            previous = segment
        }
    }

    private mutating func read(_ segment: SegmentReader, isLast: Bool, _ progress: (VerifyReport) -> Void)
        throws(EventLogError)
    {
        while true {
            do throws(EventLogError) {
                switch try segment.peek() {
                case .end: return
                case .unfinished(let reason): return tail(segment, reason, isLast)
                case .batch(let batch): take(batch, segment)
                }
            } catch .damaged(let file, let offset, let sequence, let reason) {
                note(file, offset, sequence, reason)
                guard try segment.skipDamage() else { return }
            }
            progress(report)
        }
    }

    private mutating func take(_ batch: SegmentBatch, _ segment: SegmentReader) {
        checkLines(batch, segment)
        segment.consume(batch)
        report.batches += batch.isOpening ? 0 : 1
        report.events += UInt64(batch.header.count)
        report.bytes += UInt64(batch.fixed.batchBytes)
    }

    private mutating func checkLines(_ batch: SegmentBatch, _ segment: SegmentReader) {
        let (body, bodyStart) = (batch.body, segment.offset + UInt64(batch.fixed.batchBytes - batch.body.count))
        var (start, sequence) = (0, batch.header.firstSequence)
        while let end = EventLines.end(ofLineAt: start, in: body) {
            if end - start < 3 || body[start] != UInt8(ascii: "{") || body[end - 2] != UInt8(ascii: "}") {
                note(segment.file.path, bodyStart + UInt64(start), sequence, "the line is not a JSON object")
            }
            (start, sequence) = (end, sequence + 1)
        }
        if start != body.count || sequence != batch.header.nextSequence {
            let reason = "\(sequence - batch.header.firstSequence) lines for \(batch.header.count) events"
            note(segment.file.path, segment.offset, batch.header.firstSequence, reason)
        }
    }

    private mutating func tail(_ segment: SegmentReader, _ reason: String, _ isLast: Bool) {
        if isLast {
            report.tornTail = VerifyReport.Problem(
                file: segment.file.path, offset: segment.offset, sequence: segment.nextSequence, reason: reason)
        } else {
            note(segment, "\(reason), in a segment that is not the last")
        }
    }

    private mutating func note(_ segment: SegmentReader, _ reason: String) {
        note(segment.file.path, segment.offset, segment.nextSequence, reason)
    }

    private mutating func note(_ file: String, _ offset: UInt64, _ sequence: UInt64, _ reason: String) {
        report.problems.append(
            VerifyReport.Problem(file: file, offset: offset, sequence: sequence, reason: reason))
    }
}
