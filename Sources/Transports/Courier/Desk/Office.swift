import Dispatch
import Synchronization
import Time

/// The way to the desk: SQLite may wait for the disk, which neither the cooperative pool's threads nor an event loop's
/// must.
final class Office: Sendable {
    private let desk = Mutex<Desk?>(nil)
    private let writes = DispatchQueue(label: "belfry.transport.courier")
    private let reads = DispatchQueue(label: "belfry.transport.courier.reads")
    private let now: @Sendable () -> Instant

    init(now: @escaping @Sendable () -> Instant) { self.now = now }

    /// Nil where the office is closed.
    func ask<Value: Sendable>(_ work: @escaping @Sendable (Desk, Instant) throws -> Value) async throws -> Value? {
        try await withCheckedThrowingContinuation { continuation in
            writes.async {
                continuation.resume(with: Result { try self.desk.withLock { try $0.map { try work($0, self.now()) } } })
            }
        }
    }

    /// Does not wait; nothing happens where the office is closed.
    func tell(_ work: @escaping @Sendable (Desk, Instant) -> Void, orElse: @escaping @Sendable () -> Void = {}) {
        writes.async {
            let isOpen = self.desk.withLock { desk in
                if let desk { work(desk, self.now()) }
                return desk != nil
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

    func open(_ plan: DeskPlan) async throws {
        try await withCheckedThrowingContinuation { continuation in
            writes.async {
                continuation.resume(
                    with: Result { try self.desk.withLock { $0 = try Desk(plan, now: self.now()) } })
            }
        }
    }

    /// Ends all polls, empty.
    func close() async {
        await withCheckedContinuation { continuation in
            writes.async {
                self.desk.withLock { desk in
                    desk?.close()
                    desk = nil
                }
                continuation.resume()
            }
        }
    }
}
