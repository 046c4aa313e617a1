import Dispatch
import Synchronization
import Time

/// The way to the store: SQLite may wait for the disk, which neither the cooperative pool's threads nor an event loop's
/// must.
final class CourierStoreQueue: Sendable {
    private let courierStore = Mutex<CourierStore?>(nil)
    private let writes = DispatchQueue(label: "belfry.transport.courier")
    private let reads = DispatchQueue(label: "belfry.transport.courier.reads")
    private let now: @Sendable () -> Instant

    init(now: @escaping @Sendable () -> Instant) { self.now = now }

    /// Nil where the queue is closed.
    func ask<Value: Sendable>(_ work: @escaping @Sendable (CourierStore, Instant) throws -> Value) async throws
        -> Value?
    {
        try await withCheckedThrowingContinuation { continuation in
            writes.async {
                continuation.resume(
                    with: Result { try self.courierStore.withLock { try $0.map { try work($0, self.now()) } } })
            }
        }
    }

    /// Does not wait; nothing happens where the queue is closed.
    func tell(_ work: @escaping @Sendable (CourierStore, Instant) -> Void, orElse: @escaping @Sendable () -> Void = {})
    {
        writes.async {
            let isOpen = self.courierStore.withLock { courierStore in
                if let courierStore { work(courierStore, self.now()) }
                return courierStore != nil
            }
            if !isOpen { orElse() }
        }
    }

    /// A long reading that no push has to wait for.
    func read<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            reads.async { continuation.resume(with: Result { try work() }) }
        }
    }

    func open(_ plan: CourierStorePlan) async throws {
        try await withCheckedThrowingContinuation { continuation in
            writes.async {
                continuation.resume(
                    with: Result { try self.courierStore.withLock { $0 = try CourierStore(plan, now: self.now()) } })
            }
        }
    }

    /// Ends all polls, empty.
    func close() async {
        await withCheckedContinuation { continuation in
            writes.async {
                self.courierStore.withLock { courierStore in
                    courierStore?.close()
                    courierStore = nil
                }
                continuation.resume()
            }
        }
    }
}
