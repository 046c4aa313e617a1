import Synchronization

/// Keeps the newest records, and passes each record to all listeners.
final class Journal: Sendable {
    private struct Kept {
        var records: [Record] = []
        var requests = 0
        var listeners: [Int: AsyncStream<Record>.Continuation] = [:]
        var listenerCount = 0
        var isOver = false
    }

    private let kept = Mutex(Kept())
    private let recordsMax: Int
    private let sink: @Sendable (Record) -> Void

    /// - Parameter recordsMax: At least this many of the newest records are kept, and at most twice as many.
    init(recordsMax: Int, sink: @escaping @Sendable (Record) -> Void) {
        self.recordsMax = recordsMax
        self.sink = sink
    }

    func add(_ record: Record) {
        kept.withLock { kept in
            if record.request != nil { kept.requests += 1 }
            kept.records.append(record)
            if kept.records.count > 2 * recordsMax { kept.records.removeFirst(recordsMax) }
            for listener in kept.listeners.values { listener.yield(record) }
        }
        sink(record)
    }

    var records: [Record] { kept.withLock { $0.records } }
    var requestCount: Int { kept.withLock { $0.requests } }

    /// The kept records, then all new records, until ``end()``.
    func listen() -> AsyncStream<Record> {
        let (stream, continuation) = AsyncStream.makeStream(of: Record.self)
        kept.withLock { kept in
            for record in kept.records { continuation.yield(record) }
            guard !kept.isOver else { return continuation.finish() }
            kept.listenerCount += 1
            let number = kept.listenerCount
            kept.listeners[number] = continuation
            continuation.onTermination = { [weak self] _ in self?.forget(number) }
        }
        return stream
    }

    private func forget(_ number: Int) {
        kept.withLock { _ = $0.listeners.removeValue(forKey: number) }
    }

    func end() {
        let listeners = kept.withLock { kept in
            kept.isOver = true
            defer { kept.listeners = [:] }
            return Array(kept.listeners.values)
        }
        for listener in listeners { listener.finish() }
    }
}
