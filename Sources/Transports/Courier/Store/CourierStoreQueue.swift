import Dispatch
import Synchronization
import Time

/// Runs work on the store in dispatch queues: SQLite may wait for the disk, which tasks and event loops must not do.
final class CourierStoreQueue: Sendable {
    private let courierStore = Mutex<CourierStore?>(nil)
    private let writes = DispatchQueue(label: "belfry.transport.courier")
    private let reads = DispatchQueue(label: "belfry.transport.courier.reads")
    private let now: @Sendable () -> Instant

    init(now: @escaping @Sendable () -> Instant) { self.now = now }

    /// Waits for the result of `work`.
    ///
    /// - Returns: Nil if the queue is closed.
    func ask<Value: Sendable>(_ work: @escaping @Sendable (CourierStore, Instant) throws -> Value) async throws
        -> Value?
    {
        try await run(on: writes) { try self.courierStore.withLock { try $0.map { try work($0, self.now()) } } }
    }

    /// Starts `work` without waiting for its end. Calls `orElse` instead of `work` if the queue is closed.
    func tell(_ work: @escaping @Sendable (CourierStore, Instant) -> Void, orElse: @escaping @Sendable () -> Void = {})
    {
        writes.async {
            let isOpen = self.courierStore.withLock { $0.map { work($0, self.now()) } != nil }
            if !isOpen { orElse() }
        }
    }

    /// Runs a long read beside the other work, so that no push has to wait for it.
    func read<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await run(on: reads, work)
    }

    func open(_ plan: CourierStorePlan) async throws {
        try await run(on: writes) { try self.courierStore.withLock { $0 = try CourierStore(plan, now: self.now()) } }
    }

    /// Ends all polls without a notification, and closes the store.
    func close() async {
        await run(on: writes) { self.courierStore.withLock { $0.take()?.close() } }
    }

    private func run<Value: Sendable, Failure: Error>(
        on queue: DispatchQueue, _ work: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(returning: Result { () throws(Failure) in try work() })
            }
        }.get()
    }
}
