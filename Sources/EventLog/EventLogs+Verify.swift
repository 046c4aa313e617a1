import Glibc
import Time

extension EventLogs {
    /// Reads a whole log and reports what is wrong with it.
    ///
    /// Checks the name and the identity in `log.json`, every CRC, that sequences have no gaps, that `now` and the
    /// cursor's position in the upstream log never go back, that the upstream log is the one that `upstream.json`
    /// names, that the cursor is not beyond the end of the upstream log, that each batch has as many lines as its
    /// header says, and that each line begins with `{` and ends with `}`. The log must also reach as far as its
    /// snapshots and its index. Segments must not be missing at the beginning, unless retention removed them.
    ///
    /// After damage, the verification continues at the next intact batch header. A batch that is being written at the
    /// moment counts as torn.
    ///
    /// - Parameters:
    ///   - directory: The log's own folder.
    ///   - onlyEnd: Whether to read only the last segment, and of each segment before it only the last event, which
    ///     shows whether a segment is missing.
    ///   - checks: Checks of the files beside the log. They only run for a sound log.
    ///   - progress: Called after each batch, and after a damaged part if an intact header follows it in the segment.
    /// - Throws: ``EventLogError/notALog(directory:)``, and errors that prevent reading the log.
    package static func verify(
        directory: String, onlyEnd: Bool = false, checks: [any LogCheck] = [],
        progress: (VerifyReport) -> Void = { _ in }
    ) throws(EventLogError) -> VerifyReport {
        let log = LogDirectory(path: directory)
        let manifest: LogManifest
        do { manifest = try LogManifest.required(in: log) } catch .damaged(
            let file, let offset, let sequence, let reason)
        {
            var report = VerifyReport()
            report.problems = [VerifyReport.Problem(file: file, offset: offset, sequence: sequence, reason: reason)]
            return report
        }
        var verification = try Verification(log, manifest)
        verification.checkName(manifest)
        guard try verification.checkIdentity(manifest) else { return verification.report }
        try verification.run(onlyEnd: onlyEnd, progress)
        try verification.finish(manifest.name, checks)
        return verification.report
    }
}

/// The result of a verification.
package struct VerifyReport: Hashable, Sendable {
    package struct Problem: Hashable, Sendable {
        package var file: String
        package var offset: UInt64
        /// The first event that is affected.
        package var sequence: UInt64
        package var reason: String

        package init(file: String, offset: UInt64, sequence: UInt64, reason: String) {
            (self.file, self.offset, self.sequence, self.reason) = (file, offset, sequence, reason)
        }
    }

    package var segments = 0
    /// Batches with right CRCs. The first batch of a segment, which has no events, does not count.
    package var batches: UInt64 = 0
    /// Events in batches with right CRCs.
    package var events: UInt64 = 0
    /// Bytes of the batches with right CRCs, including the first batch of each segment.
    package var bytes: UInt64 = 0
    /// The problems, in the order in which they were found.
    package var problems: [Problem] = []
    /// Problems with caches, which cost time but no events.
    package var notes: [Problem] = []
    /// An unfinished last batch. A writer cuts it off when it opens the log; no event before it is lost.
    package var tornTail: Problem?

    package var isSound: Bool { problems.isEmpty && tornTail == nil }
}

private struct Verification {
    var report = VerifyReport()
    private let log: LogDirectory
    private let identity: LogIdentity
    private let segments: [UInt64]
    private let buffer = ReadBuffer()
    private var upstream: UpstreamCheck?
    private var cursor = Cursor()
    private var (lastSequence, lastNow) = (UInt64(0), Instant.epoch)
    private let lostEnd: LostEnd
    /// The end of the last batch that was read, and the last sequence up to there; nil without segments.
    private var end: (file: String, offset: UInt64, sequence: UInt64)?

    init(_ log: LogDirectory, _ manifest: LogManifest) throws(EventLogError) {
        self.log = log
        identity = manifest.identity
        lostEnd = try LostEnd(of: log, manifest.identity)
        segments = try log.segments()
        do throws(EventLogError) { upstream = try UpstreamCheck(directory: log.path) } catch .damaged(
            let file, let offset, let sequence, let reason)
        {
            addProblem(file, offset, sequence, reason)
        }
    }

    mutating func finish(_ name: String, _ checks: [any LogCheck]) throws(EventLogError) {
        if let problem = try upstream?.finish() { report.problems.append(problem) }
        if report.problems.isEmpty, let end {
            let problem = lostEnd.problem(in: end.file, at: end.offset, after: end.sequence)
            if let problem { report.problems.append(problem) }
        }
        let verified = VerifiedLog(
            directory: log.path, name: name, identity: identity, segments: segments, lastSequence: lastSequence,
            lastNow: lastNow, cursor: cursor)
        guard report.isSound else { return }
        for check in checks {
            let found = try check.check(verified)
            if check.checksCache { report.notes += found } else { report.problems += found }
        }
    }

    /// Checks that the log and its folder have the same name. Otherwise a writer would refuse the log.
    mutating func checkName(_ manifest: LogManifest) {
        guard !log.isNamed(manifest.name) else { return }
        let reason = "log.json names log '\(manifest.name)', but its folder is '\(LogDirectory.split(log.path).name)'"
        addProblem(log.manifestPath, 0, segments.first ?? 1, reason)
    }

    /// Adds a problem and returns false if there are segments, but none of them has the identity in `log.json`. Then
    /// `log.json` is wrong, not the segments.
    mutating func checkIdentity(_ manifest: LogManifest) throws(EventLogError) -> Bool {
        let digests = try log.digests()
        if digests.isEmpty || digests.contains(identity.digest) { return true }
        addProblem(log.manifestPath, 0, segments.first ?? 1, LogManifest.otherIdentityReason(manifest))
        return false
    }

    mutating func run(onlyEnd: Bool, _ progress: (VerifyReport) -> Void) throws(EventLogError) {
        if let missing = try log.missingStart(segments) {
            let first = missing.lowerBound
            addProblem(log.segmentPath(first), 0, first, EventLogs.reason(forMissing: missing))
        }
        var wanted = segments[...]
        if onlyEnd {
            for (first, next) in zip(segments, segments.dropFirst()) { try checkEnd(of: first, before: next) }
            wanted = segments.suffix(1)
        }
        var previous: SegmentReader?
        for first in wanted {
            guard let file = try OpenFile.ifPresent(log.segmentPath(first)) else {
                try addMissingSegment(first)
                continue
            }
            let segment = SegmentReader(
                file, first: first, identity: identity, lastNow: previous?.lastNow ?? .epoch, buffer: buffer)
            if let previous, previous.nextSequence != first {
                report.problems.append(previous.problem(previous.gap(to: first)))
            }
            try read(segment, isLast: first == segments.last, progress)
            report.segments += 1
            end = (segment.file.path, segment.offset, segment.nextSequence - 1)
            previous = segment
        }
    }

    /// Checks that a segment ends where the next one begins.
    private mutating func checkEnd(of first: UInt64, before next: UInt64) throws(EventLogError) {
        do throws(EventLogError) {
            let lookup = SegmentLookup(log.segmentPath(first), first: first, identity)
            if try unsafe lookup.read(next - 1, before: next, { _ in true }) != nil { return }
            let segment = try SegmentReader(log, first, identity, buffer: buffer)
            try segment.skipToEnd()
            if segment.nextSequence != next { report.problems.append(segment.problem(segment.gap(to: next))) }
        } catch .damaged(let file, let offset, let sequence, let reason) {
            addProblem(file, offset, sequence, reason)
        } catch .failed(_, _, ENOENT) {
            try addMissingSegment(first)
        }
    }

    /// Adds the problem that a listed segment is missing, unless retention has removed it since.
    private mutating func addMissingSegment(_ first: UInt64) throws(EventLogError) {
        guard let oldest = try log.segments().first, oldest > first else {
            return addProblem(log.segmentPath(first), 0, first, "the segment is missing")
        }
    }

    private mutating func read(_ segment: SegmentReader, isLast: Bool, _ progress: (VerifyReport) -> Void)
        throws(EventLogError)
    {
        while true {
            do throws(EventLogError) {
                switch try unsafe segment.peek() {
                case .end: return
                case .unfinished(let reason): return addUnfinished(segment, reason, isLast)
                case .batch(let batch): unsafe process(batch, segment)
                }
            } catch .damaged(let file, let offset, let sequence, let reason) {
                addProblem(file, offset, sequence, reason)
                guard try segment.skipDamage() else { return }
            }
            progress(report)
        }
    }

    private mutating func process(_ batch: SegmentBatch, _ segment: SegmentReader) {
        unsafe checkLines(batch, segment)
        unsafe checkCursor(batch, segment)
        unsafe segment.consume(batch)
        unsafe report.batches += batch.isOpening ? 0 : 1
        unsafe report.events += UInt64(batch.header.count)
        unsafe report.bytes += UInt64(batch.fixed.batchBytes)
    }

    private mutating func checkCursor(_ batch: SegmentBatch, _ segment: SegmentReader) {
        let problem = unsafe upstream?.check(batch.header, file: segment.file.path, offset: segment.offset)
        if let problem { report.problems.append(problem) }
        guard report.problems.isEmpty else { return }
        unsafe cursor.fold(batch.header.cursor)
        (lastSequence, lastNow) = unsafe (batch.header.lastSequence, batch.header.now)
    }

    private mutating func checkLines(_ batch: SegmentBatch, _ segment: SegmentReader) {
        let (body, bodyStart) = unsafe (batch.body, segment.offset + UInt64(batch.fixed.batchBytes - batch.body.count))
        var (start, sequence) = unsafe (0, batch.header.firstSequence)
        while let end = unsafe EventLines.end(ofLineAt: start, in: body) {
            if unsafe end - start < 3 || body[start] != UInt8(ascii: "{") || body[end - 2] != UInt8(ascii: "}") {
                addProblem(segment.file.path, bodyStart + UInt64(start), sequence, "the line is not a JSON object")
            }
            (start, sequence) = (end, sequence + 1)
        }
        if unsafe start != body.count || sequence != batch.header.nextSequence {
            let lines = unsafe sequence - batch.header.firstSequence
            let reason = unsafe "the batch has \(lines) lines, but its header says \(batch.header.count) events"
            unsafe addProblem(segment.file.path, segment.offset, batch.header.firstSequence, reason)
        }
    }

    private mutating func addUnfinished(_ segment: SegmentReader, _ reason: String, _ isLast: Bool) {
        if isLast {
            report.tornTail = segment.problem(reason)
        } else {
            report.problems.append(segment.problem("\(reason), in a segment that is not the last"))
        }
    }

    private mutating func addProblem(_ file: String, _ offset: UInt64, _ sequence: UInt64, _ reason: String) {
        report.problems.append(
            VerifyReport.Problem(file: file, offset: offset, sequence: sequence, reason: reason))
    }
}
