import Events
import PipelineKit
import PipelineRuntime
import RecordStore
import Time
import ZeroMQ

/// Applies the events of ingest's log to the gateway's store. Runs on a thread of its own.
final class StoreFollower {
    private let writer: RecordWriter
    private let client: LinkClient
    private let writes: PendingWrites<AppliedRequest>
    private let barrier: ReadBarrier
    private let onApplied: (_ hasDeleted: Bool) throws -> Void

    /// When the batches of a transaction have this many bytes, the transaction gets no more batches.
    private static let transactionBytes = 4 << 20

    /// - Parameters:
    ///   - applied: The last sequence in the store.
    ///   - onApplied: Called at the start and after each transaction. `hasDeleted` says whether records or zones may
    ///     have been deleted.
    init(
        _ writer: RecordWriter, applied: UInt64, _ socket: ClientSocket, endpoint: String,
        _ writes: PendingWrites<AppliedRequest>, _ barrier: ReadBarrier,
        onApplied: @escaping (_ hasDeleted: Bool) throws -> Void
    ) throws {
        (self.writer, self.writes, self.barrier) = (writer, writes, barrier)
        self.onApplied = onApplied
        client = try LinkClient(socket, endpoint: endpoint, name: PipelineFile.gatewayName, after: applied)
        barrier.applied(through: applied)
    }

    /// Sets where ingest is now, if it can move to another machine.
    func follows(_ currentEndpoint: @escaping () -> String?) { client.currentEndpoint = currentEndpoint }

    /// Returns when the gateway stops.
    func run(wake: WakeSignal, while mayRun: () -> Bool) throws {
        let poller = ZMQPoller()
        poller.add(client.socket)
        poller.add(wake)
        var mayNeedMaintenance = true
        // The gateway may have stopped between a delete and the deletes that it causes.
        try onApplied(true)
        while mayRun() {
            let timeout = mayNeedMaintenance ? .zero : client.pollTimeout
            _ = try poller.poll(timeoutMilliseconds: Int(timeout / .milliseconds(1)))
            var wasIdle = true
            while mayRun(), try applyArrived() { wasIdle = false }
            if wasIdle { mayNeedMaintenance = try writer.doMaintenance() }
            try client.tick(at: .now)
        }
        try client.close()
    }

    /// - Returns: Whether any batch had arrived.
    private func applyArrived() throws -> Bool {
        var (batches, bytes, last): ([EventBatch], Int, UInt64) = ([], 0, 0)
        while bytes < Self.transactionBytes, let arrival = try client.receive() {
            guard case .batch(let first, let count, let now, let lines) = arrival else { continue }
            batches.append(EventBatch(firstSequence: first, now: now, lines: Array(lines)))
            (bytes, last) = (bytes + lines.count, first + UInt64(count) - 1)
        }
        guard !batches.isEmpty else { return false }
        let applied = try writer.apply(batches)
        client.firstNeeded = last + 1
        try client.grant(bytes)
        writes.stored(through: last, events: applied.map { ($0.request, $0) })
        barrier.applied(through: last)
        try onApplied(writer.hasDeleted)
        return true
    }
}
