import Synchronization

/// Keeps the newest records, and passes each record to all listeners.
final class Journal: Sendable {
    private struct State {
        var records: [Record] = []
        var requests = 0
        var listeners: [Int: AsyncStream<Record>.Continuation] = [:]
        var lastListener = 0
        var hasEnded = false
    }

    private let state = Mutex(State())
    private let recordsKept: Int
    private let sink: @Sendable (Record) -> Void

    /// - Parameter recordsKept: At least this many of the newest records are kept, and at most twice as many.
    init(recordsKept: Int, sink: @escaping @Sendable (Record) -> Void) {
        self.recordsKept = recordsKept
        self.sink = sink
    }

    func add(_ record: Record) {
        state.withLock { state in
            if record.request != nil { state.requests += 1 }
            state.records.append(record)
            if state.records.count > 2 * recordsKept { state.records.removeFirst(recordsKept) }
            for listener in state.listeners.values { listener.yield(record) }
        }
        sink(record)
    }

    var records: [Record] { state.withLock { $0.records } }
    var requestCount: Int { state.withLock { $0.requests } }

    /// The kept records, then all new records, until ``end()``.
    func listen() -> AsyncStream<Record> {
        let (stream, continuation) = AsyncStream.makeStream(of: Record.self)
        state.withLock { state in
            for record in state.records { continuation.yield(record) }
            guard !state.hasEnded else { return continuation.finish() }
            state.lastListener += 1
            let number = state.lastListener
            state.listeners[number] = continuation
            continuation.onTermination = { [weak self] _ in self?.forget(number) }
        }
        return stream
    }

    private func forget(_ number: Int) {
        state.withLock { _ = $0.listeners.removeValue(forKey: number) }
    }

    func end() {
        let listeners = state.withLock { state in
            state.hasEnded = true
            defer { state.listeners = [:] }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.finish() }
    }
}
