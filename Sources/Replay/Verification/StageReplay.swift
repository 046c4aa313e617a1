import EventLog
import JSON
import PipelineKit
import PipelineRuntime
import Time

/// Feeds a stage's recorded input to a machine, wakes it at the recorded times, and compares its outputs with the log.
///
/// The batches of the stage's own log decide when this happens. A batch's cursor tells which input came before the
/// batch, and its `now` tells the time of the stage's clock. Input after the last batch may be unprocessed.
final class StageReplay {
    private let recorded: RecordedStage
    private let machine: any StageMachine
    private let part: StagePart
    private let start: StageStart
    /// At the end of each span, the machine's state is compared with the snapshot there.
    private let series: SpanSeries
    private let feed: UpstreamFeed
    private let own: EventLogReader
    private var past: RecordedPast
    private var time: Instant
    /// Whether the current batch has a later time than all earlier batches and all input events that were fed so far.
    private var isLate = false
    private var outputs: OutputComparison
    private let deadLetters: DeadLetterComparison
    private var focused: FocusedComparison?
    private var wholeBatches = ComparedEvents()
    private let progress: StageProgress
    var watch: (any ReplayWatch)?

    /// Feeding stops when the machine's output exceeds the log's batch by this size, because then the two differ
    /// anyway.
    private static let aheadBytesMax = 64 << 20

    init(
        _ recorded: RecordedStage, _ machine: any StageMachine, part: StagePart, start: StageStart,
        series: SpanSeries, focus: ReplayFocus? = nil, progress: StageProgress
    ) throws {
        self.recorded = recorded
        self.machine = machine
        self.part = part
        (self.start, self.series) = (start, series)
        self.progress = progress
        time = start.now
        past = RecordedPast(upstream: recorded.context.upstreamName, after: start.cursor, feedsParts: true)
        feed = try recorded.feed(from: start.cursor + 1)
        own = try recorded.ownReader(after: start)
        focused = focus.map(FocusedComparison.init)
        outputs = OutputComparison(from: start.sequence + 1)
        deadLetters = try DeadLetterComparison(recorded, after: start.cursor)
    }

    /// - Parameter snapshot: Reads a snapshot; returns nil if it cannot be read.
    /// - Returns: The first difference; nil if the replayed part of the log is identical. The replay ends early if it
    ///   is cancelled, or if the series ends before the log.
    func run(_ snapshot: (SnapshotHeader) throws -> Snapshot?) throws -> ReplayDifference? {
        while let batch = try own.next(), batch.header.firstSequence <= part.last {
            guard !start.includes(batch.header) else { continue }
            while let end = series.span.end, !StageStart(end).includes(batch.header) {
                if let difference = try compareState(with: snapshot(end)) { return difference }
                guard series.moveToNextSpan() else { return nil }
            }
            if let difference = try replay(batch) { return difference }
            if progress.isCancelled { return nil }
        }
        while let end = series.span.end {
            if let difference = try compareState(with: snapshot(end)) { return difference }
            guard series.moveToNextSpan() else { return nil }
        }
        return try finish()
    }

    /// Runs the machine to the moment of the snapshot, which may be after the last batch, and compares the states. Does
    /// nothing if the snapshot cannot be read.
    private func compareState(with snapshot: Snapshot?) throws -> ReplayDifference? {
        guard let snapshot else { return nil }
        let header = snapshot.header
        try feed(through: header.position, limit: .max)
        past.pass(header.position)
        time = max(time, header.now)
        try machine.advance(to: header.now)
        let rejected = machine.output.outbox.takeRejections()
        if let difference = try deadLetters.compare(rejected, isSkipped: false) { return difference }
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        if let mismatch = outputs.compare(nothing, count: 0, with: machine.output) ?? outputs.surplus() {
            return difference(mismatch)
        }
        if let difference = try deadLetters.surplus(through: header.position) { return difference }
        guard (machine as? any StatefulMachine)?.state() != snapshot.state else { return nil }
        return ReplayDifference(
            stage: recorded.name, log: recorded.log.name, sequence: header.sequence,
            recorded: StageReplay.json("the state in \(snapshot.path)"), replayed: StageReplay.json("another state"),
            cause: .unknown)
    }

    private static func json(_ text: String) -> String {
        var buffer = ByteBuffer()
        buffer.appendJSON(text)
        return buffer.text
    }

    private func replay(_ batch: EventLogReader.Batch) throws -> ReplayDifference? {
        let header = batch.header
        past.begin(header)
        try machine.begin(header)
        let isSkipped = header.nextSequence <= part.first && part.first > 1
        try reenact(limit: isSkipped ? .max : batch.body.count + StageReplay.aheadBytesMax)
        if !isLate { endsWithWake = machine.output.marks.last.map { $0.input == nil } ?? false }
        if !isSkipped { try watch?.observe(machine.output, of: recorded, at: header.now) }
        let skipsLetters = isSkipped || focused != nil
        let rejected = machine.output.outbox.takeRejections()
        if let difference = try deadLetters.compare(rejected, isSkipped: skipsLetters) { return difference }
        for sequence in feed.takeSkipped() {
            if let difference = try deadLetters.compareCrash(at: sequence, isSkipped: skipsLetters) {
                return difference
            }
        }
        progress.add(events: 0, bytes: batch.body.count)
        return compare(batch, isSkipped: isSkipped).map(difference)
    }

    /// Repeats with the machine the steps that made the current batch.
    private func reenact(limit: Int) throws {
        while let action = past.next(fedThrough: feed.next - 1) {
            switch action {
            case .feed(let last):
                try feed(through: last, limit: limit)
                if feed.next <= last { return try machine.settle() }
            case .advance(let now):
                isLate = now > time
                time = max(time, now)
                try machine.advance(to: now)
            case .settle: try machine.settle()
            case .readBatch: return
            }
        }
    }

    private func compare(_ batch: EventLogReader.Batch, isSkipped: Bool) -> OutputComparison.Mismatch? {
        let header = batch.header
        if focused != nil { return focused?.compare(batch, with: machine.output, isSkipped: isSkipped) }
        guard !isSkipped else {
            outputs.skip(header.count, of: machine.output)
            return nil
        }
        let mismatch = outputs.compare(batch.body, count: header.count, with: machine.output)
        if mismatch == nil, header.count > 0 { wholeBatches.add(header.firstSequence...header.lastSequence) }
        return mismatch
    }

    /// The events of the stage's log that the replay made identically. Without a focus, the events of a batch with a
    /// difference do not count.
    var compared: ComparedEvents { focused?.compared ?? wholeBatches }

    private func feed(through last: UInt64, limit: Int) throws {
        while let run = try feed.nextRun(through: last) {
            focused?.note(run)
            try machine.receive(run.lines, first: run.first, at: run.now)
            time = max(time, run.now)
            progress.add(events: run.count, bytes: run.lines.count)
            if machine.output.lines.count > limit { return }
        }
        guard feed.next > last else {
            throw ReplayError.ahead(
                log: recorded.log.directory, cursor: last, upstream: recorded.context.upstreamName, last: feed.next - 1)
        }
    }

    // MARK: The end

    /// Whether the machine's last outputs come from a wake or an answer, not from an input event. The recorded stage
    /// may have ended when a deadline was already due, but before its host woke it. The replay does wake the machine.
    /// If it then makes outputs after the log's last event, this is no difference. A batch for which ``isLate`` is true
    /// leaves this property as it is.
    private var endsWithWake = false

    private func finish() throws -> ReplayDifference? {
        guard part.last == .max else { return nil }
        let left = focused == nil ? outputs.surplus() : focused?.surplus(recorded.log.lastSequence + 1)
        if past.unfinished == nil, let surplus = left, !(endsWithWake && surplus.mark?.input == nil) {
            return difference(surplus)
        }
        if focused == nil, let difference = try deadLetters.surplus(through: past.cursor) { return difference }
        try countUnprocessed()
        return nil
    }

    /// Counts the input after the last batch, beginning with the first event that leads to an output. The stage cannot
    /// have processed this event, because its output is not in the log. The log does not tell whether the input before
    /// this event was processed, so that input counts as processed. If the stage's process may have crashed on an
    /// event, this event is not fed, and the event and all later input count.
    private func countUnprocessed() throws {
        machine.output.removeAll()
        try machine.begin(nil)
        let end = recorded.upstream?.lastSequence ?? past.cursor
        let last = min(end, recorded.lastSafeInput(after: past.cursor))
        unprocessed = end - last
        while let run = try feed.nextRun(through: last) {
            try machine.receive(run.lines, first: run.first, at: run.now)
            guard machine.output.count == 0 else {
                let first = machine.output.marks.first?.input ?? run.first
                unprocessed = end - first + 1
                return progress.add(events: Int(first - run.first), bytes: run.lines.count)
            }
            progress.add(events: run.count, bytes: run.lines.count)
        }
    }

    /// Input events that the stage had not processed at the end of the logs; 0 when the replay ends before that.
    private(set) var unprocessed: UInt64 = 0

    private func difference(_ mismatch: OutputComparison.Mismatch) -> ReplayDifference {
        ReplayDifference(
            stage: recorded.name, log: recorded.log.name, sequence: mismatch.sequence, recorded: mismatch.recorded,
            replayed: mismatch.replayed, cause: cause(of: mismatch.mark))
    }

    private func cause(of mark: MachineOutput.Mark?) -> ReplayDifference.Cause {
        guard let mark else { return .unknown }
        guard let input = mark.input, let upstream = recorded.upstream else { return .wake(mark.now) }
        return .event(log: upstream.name, sequence: input, text: EventText.read(input, in: upstream.directory))
    }
}

private enum EventText {
    /// An event of a log; nil if it cannot be read.
    static func read(_ sequence: UInt64, in log: String) -> String? {
        do throws(EventLogError) {
            let reader = try EventLogReader(directory: log, from: .sequence(sequence))
            guard let batch = try reader.next() else { return nil }
            var lines = Lines(EventLogReader.slice(batch.body, header: batch.header, from: sequence))
            return lines.next().map { String(decoding: $0, as: UTF8.self) }
        } catch { return nil }
    }
}
