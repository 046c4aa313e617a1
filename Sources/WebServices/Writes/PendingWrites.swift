import Synchronization

/// A line for ingest's door, without its line feed.
struct PendingLine: Sendable {
    /// The line's request ID, which ingest copies to its events.
    let id: String
    let writer: LineWriter
    let bytes: [UInt8]

    /// - Parameter json: The line's JSON. A client's JSON may have line feeds and carriage returns as white space. They
    ///   become spaces, because the door would read the text after them as another command.
    init(id: String, of writer: LineWriter, bytes json: [UInt8]) {
        (self.id, self.writer) = (id, writer)
        bytes = json.contains(where: Self.endsLine) ? json.map { Self.endsLine($0) ? UInt8(ascii: " ") : $0 } : json
    }

    private static func endsLine(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
    }
}

/// The gateway's lines for the door that are neither stored nor refused yet, and the requests that wait for them.
/// Shared by the requests, the door's thread and the store's thread.
final class PendingWrites<StoredEvent: Sendable>: Sendable {
    typealias Ledger = WriteLedger<String, StoredEvent>

    /// How a line ended.
    enum Result: Sendable {
        case stored([StoredEvent])
        case refused(Ledger.Refusal)
        /// The line may be stored later, or never. The request has waited long enough, or the gateway stops.
        case unknown
    }

    /// One request that waits for its lines.
    fileprivate struct Request {
        var results: [Result]
        var openLineCount: Int
        let deadline: ContinuousClock.Instant
        let continuation: CheckedContinuation<[Result], Never>
    }

    /// A line that is neither stored nor refused yet. Its request may have been answered already. A line of
    /// ``send(_:)`` belongs to no request; its `request` is 0.
    fileprivate struct OpenLine {
        let line: PendingLine
        let request: Int
        let index: Int
    }

    fileprivate struct State {
        var ledger: Ledger?
        /// The last sequence that ``stored(through:events:)`` has reported. Needed for events that the store applies
        /// before there is a ledger.
        var applied: UInt64 = 0
        var open: [String: OpenLine] = [:]
        var requests: [Int: Request] = [:]
        var lastRequest = 0
        var queue = LineQueue()
        var isClosed = false
    }

    fileprivate typealias Answer = (continuation: CheckedContinuation<[Result], Never>, results: [Result])

    private let state = Mutex(State())
    private let queueBytesMax: Int
    private let wake: @Sendable () -> Void

    /// - Parameters:
    ///   - queueBytesMax: While at least this many bytes wait to be sent, all further requests are refused. While at
    ///     least a quarter of this many bytes of one user wait, further requests of this user are refused.
    ///   - wake: Called when ``takeLines(first:countMax:bytesMax:)`` has something to take.
    init(queueBytesMax: Int = 64 << 20, wake: @escaping @Sendable () -> Void) {
        (self.queueBytesMax, self.wake) = (queueBytesMax, wake)
    }

    /// The number of waiting requests.
    var count: Int { state.withLock { $0.requests.count } }

    /// Sends a request's lines, and waits until each is stored or refused, but at most until `deadline`.
    ///
    /// - Returns: How each line ended, in order. `unknown` for a line that was at the door at the deadline, or that had
    ///   not ended when the gateway stopped. ``WriteLedger/Refusal/notSent`` for a line that was in the queue at the
    ///   deadline, and for all lines if the request was refused at once.
    func write(_ lines: [PendingLine], until deadline: ContinuousClock.Instant) async -> [Result] {
        guard !lines.isEmpty else { return [] }
        return await withCheckedContinuation { continuation in
            let isQueued = state.withLock { state in
                hasRoom(for: lines[0].writer, in: state.queue) && state.add(lines, deadline, continuation)
            }
            isQueued ? wake() : continuation.resume(returning: lines.map { _ in .refused(.notSent) })
        }
    }

    private func hasRoom(for writer: LineWriter, in queue: LineQueue) -> Bool {
        queue.bytes < queueBytesMax && queue.bytes(of: writer) < queueBytesMax / 4
    }

    /// Sends lines without waiting for them.
    func send(_ lines: [PendingLine]) {
        state.withLock { state in
            guard !state.isClosed else { return }
            for line in lines { state.open[line.id] = OpenLine(line: line, request: 0, index: 0) }
            state.queue.append(lines)
        }
        wake()
    }

    /// Ends every wait, and accepts no more lines.
    func close() {
        let answers = state.withLock { state in
            state.isClosed = true
            defer { (state.requests, state.open, state.queue) = ([:], [:], LineQueue()) }
            return state.requests.values.map { (continuation: $0.continuation, results: $0.results) }
        }
        resume(answers)
    }

    private func resume(_ answers: [Answer]) {
        for answer in answers { answer.continuation.resume(returning: answer.results) }
    }
}

// MARK: - The door's thread

extension PendingWrites {
    /// Called once, before the door's thread takes the first lines. See ``WriteLedger/init(answered:applied:)``.
    ///
    /// The store's thread may already have applied events after `applied`.
    func begin(answered: UInt64, applied: UInt64) {
        state.withLock { $0.ledger = Ledger(answered: answered, applied: max(applied, $0.applied)) }
    }

    /// Takes the next lines for the door. See ``LineQueue/take(countMax:bytesMax:)``.
    ///
    /// - Parameter first: The number that the first line has at the door.
    /// - Returns: The lines, and the numbers of their requests.
    func takeLines(first: UInt64, countMax: Int, bytesMax: Int) -> (lines: [PendingLine], requests: Set<Int>) {
        state.withLock { state in
            let lines = state.queue.take(countMax: countMax, bytesMax: bytesMax)
            for (index, line) in lines.enumerated() { state.ledger?.sent(line.id, asLine: first + UInt64(index)) }
            return (lines, Set(lines.compactMap { state.open[$0.id]?.request }))
        }
    }

    func answered(through line: UInt64, last: UInt64, refusals: [UInt64: Ledger.Refusal]) {
        advance { $0.answered(through: line, last: last, refusals: refusals) }
    }

    func answersLost(through line: UInt64, last: UInt64) { advance { $0.answersLost(through: line, last: last) } }

    /// Answers the requests whose deadlines have passed. Their lines at the door stay open until they end. Their lines
    /// in the queue are dropped.
    func expire(at now: ContinuousClock.Instant) {
        resume(
            state.withLock { state in
                let expired = state.requests.filter { $0.value.deadline <= now }
                guard !expired.isEmpty else { return [] }
                state.dropQueuedLines(ofRequests: Set(expired.keys))
                return expired.keys.compactMap { state.requests.removeValue(forKey: $0) }.map {
                    ($0.continuation, $0.results)
                }
            })
    }
}

// MARK: - The store's thread

extension PendingWrites {
    func stored(through sequence: UInt64, events: [(id: String, event: StoredEvent)]) {
        state.withLock { $0.applied = max($0.applied, sequence) }
        advance { $0.stored(through: sequence, events: events) }
    }

    private func advance(_ event: (inout Ledger) -> [Ledger.Action]) {
        let (answers, sendsAgain) = state.withLock { state in
            guard var ledger = state.ledger.take() else { return ([Answer](), false) }
            let actions = event(&ledger)
            state.ledger = ledger
            return state.perform(actions)
        }
        resume(answers)
        if sendsAgain { wake() }
    }
}

extension PendingWrites.State {
    /// - Returns: False if the gateway stops.
    fileprivate mutating func add(
        _ lines: [PendingLine], _ deadline: ContinuousClock.Instant,
        _ continuation: CheckedContinuation<[PendingWrites.Result], Never>
    ) -> Bool {
        guard !isClosed else { return false }
        lastRequest += 1
        requests[lastRequest] = PendingWrites.Request(
            results: Array(repeating: .unknown, count: lines.count), openLineCount: lines.count, deadline: deadline,
            continuation: continuation)
        for (index, line) in lines.enumerated() {
            open[line.id] = PendingWrites.OpenLine(line: line, request: lastRequest, index: index)
        }
        queue.append(lines)
        return true
    }

    /// A queued line is not at the door, and the store has no events of it. So it was not applied.
    fileprivate mutating func dropQueuedLines(ofRequests numbers: Set<Int>) {
        queue.removeAll { line in
            guard let found = open[line.id], numbers.contains(found.request) else { return false }
            open[line.id] = nil
            requests[found.request]?.results[found.index] = .refused(.notSent)
            return true
        }
    }

    /// - Returns: The requests to answer, and whether a line must be sent again.
    fileprivate mutating func perform(_ actions: [PendingWrites.Ledger.Action]) -> ([PendingWrites.Answer], Bool) {
        var (answers, sendsAgain): ([PendingWrites.Answer], Bool) = ([], false)
        for action in actions {
            switch action {
            case .end(let id, let end):
                guard let line = open.removeValue(forKey: id) else { continue }
                if let answer = record(PendingWrites.Result(end), of: line) { answers.append(answer) }
            case .sendAgain(let id):
                guard let line = open[id]?.line else { continue }
                queue.append([line])
                sendsAgain = true
            }
        }
        return (answers, sendsAgain)
    }

    /// - Returns: The answer to the line's request, if the line was the last open line of the request.
    private mutating func record(
        _ result: PendingWrites.Result, of line: PendingWrites.OpenLine
    ) -> PendingWrites.Answer? {
        guard var request = requests.removeValue(forKey: line.request) else { return nil }
        request.results[line.index] = result
        request.openLineCount -= 1
        guard request.openLineCount > 0 else { return (request.continuation, request.results) }
        requests[line.request] = request
        return nil
    }
}

extension Sequence {
    /// - Throws: ``ServiceError/outcomeUnknown`` if the results of all lines are unknown; an error that allows another
    ///   try if no line was sent.
    func throwingIfAllUnknownOrNotSent<StoredEvent>() throws(ServiceError) -> Self
    where Element == PendingWrites<StoredEvent>.Result {
        let isAnyKnown = contains { if case .unknown = $0 { false } else { true } }
        guard isAnyKnown else { throw .outcomeUnknown }
        let isAnySent = contains { if case .refused(.notSent) = $0 { false } else { true } }
        guard isAnySent else { throw ServiceError(PendingWrites<StoredEvent>.Ledger.Refusal.notSent) }
        return self
    }
}

extension WriteLedger.Refusal {
    /// For a line that the gateway did not send and will not send.
    static var notSent: Self {
        Self(
            code: "write.not_sent", path: "",
            reason: "the write was not made: ingest does not answer, or too many writes wait for ingest")
    }

    static func ~= (pattern: Self, refusal: Self) -> Bool { pattern == refusal }
}

extension PendingWrites.Result {
    fileprivate init(_ end: PendingWrites.Ledger.End) {
        self =
            switch end {
            case .stored(let events): .stored(events)
            case .refused(let refusal): .refused(refusal)
            }
    }
}
