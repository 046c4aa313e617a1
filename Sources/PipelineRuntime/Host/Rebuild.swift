import EventLog
import JSON
import PipelineKit

/// Feeds a stage its past: the `(cursor, now)` pairs of its own log say when it was woken between two events, and its
/// events what transports answered.
struct Rebuild {
    /// The last upstream sequence whose effects are in the stage's log or in the snapshot that it starts from.
    let through: UInt64
    private let upstream: String
    private let reader: EventLogReader
    private var header: BatchHeader?
    /// Batches behind it whose answers were read with its own.
    private var ahead: ArraySlice<BatchHeader> = []
    private var cursor: UInt64 = 0
    private var answers: RecordedAnswers?
    private let unfinished: UnfinishedStep?
    /// The last event of the stage's own log that its state includes.
    private let included: UInt64

    /// - Parameters:
    ///   - start: What the stage's state includes; nil where it begins anew. Batches from before bring no later time than
    ///     it has.
    ///   - answers: How to read transports' answers from the stage's own events; nil for a stage without transports.
    ///   - unfinished: What the log's last batches are a part of.
    init(
        _ plan: HostPlan, upstream: String, through: UInt64, after start: SnapshotMoment?, answers: RecordedAnswers?,
        unfinished: UnfinishedStep? = nil
    ) throws {
        self.through = through
        self.unfinished = unfinished
        self.upstream = upstream
        self.answers = answers
        reader = try EventLogReader(directory: plan.logDirectory, from: .sequence(start?.firstRead ?? 1))
        included = start?.sequence ?? 0
        try step()
    }

    /// The time of the next recorded batch that answers only events before `sequence`; nil when there is none.
    mutating func nextWake(before sequence: UInt64) throws -> Instant? {
        guard let header, cursor < sequence, !isOfUnfinishedWake(header) else { return nil }
        try step()
        return header.now
    }

    /// A wake that the log does not hold whole is no past.
    private func isOfUnfinishedWake(_ header: BatchHeader) -> Bool {
        unfinished.map { $0.kind == .wake && header.lastSequence >= $0.first } ?? false
    }

    /// What a transport answered then; nil where the log does not say.
    mutating func recordedAnswer(to delivery: Delivery) -> TransportAnswer? { answers?.take(delivery.id) }

    /// With the answers of a step that the log does not hold whole.
    func readToEnd() throws -> Rebuild {
        var whole = self
        while whole.header != nil { try whole.step() }
        return whole
    }

    private mutating func step() throws {
        if ahead.isEmpty { try readOn() }
        header = ahead.popFirst()
        if let position = header?.cursor.positions[upstream] { cursor = position }
    }

    /// What a wake has handed out is answered in all batches that are a part of it.
    private mutating func readOn() throws {
        while let header = try read() {
            ahead.append(header)
            guard UnfinishedStep(header.cursor, of: upstream)?.kind == .wake else { return }
        }
    }

    private mutating func read() throws -> BatchHeader? {
        guard answers != nil else { return try reader.nextHeader() }
        let batch = try reader.next()
        if let batch { answers?.add(batch, after: included) }
        return batch?.header
    }
}

/// Which upstream log a stage's log was made from, kept beside it: a cursor means nothing in another log.
struct UpstreamRecord {
    private let directory: String

    init(_ plan: HostPlan) { directory = plan.logDirectory }

    /// The log that this one was made from; nil in a new log, or where only ``check(_:_:endpoint:)`` can say why not.
    func recorded() -> (name: String, LogIdentity)? {
        do throws(EventLogError) {
            return try UpstreamNote.read(directory: directory).map { ($0.log, $0.identity) }
        } catch { return nil }
    }

    func check(_ log: String, _ identity: LogIdentity, endpoint: String) throws {
        guard let recorded = try UpstreamNote.read(directory: directory) else {
            let note = UpstreamNote(log: log, identity: identity)
            return try SmallText.write(note.text, to: UpstreamNote.path(in: directory))
        }
        guard recorded.identity == identity else {
            throw LinkError.otherUpstream(endpoint: endpoint, expected: recorded.identity, found: identity)
        }
    }
}
