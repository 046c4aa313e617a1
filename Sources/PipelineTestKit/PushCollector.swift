import PipelineKit
import Synchronization

/// Collects the pushes of a pipeline for tests that wait for them.
final class PushCollector: Sendable {
    private let state = Mutex(State())

    private struct State {
        var pushes: [String] = []
        var awaited = 0
        var waiters: [CheckedContinuation<String, Never>] = []
    }

    var pushes: [String] { state.withLock { $0.pushes } }

    func add(_ deliveries: [Delivery]) {
        for delivery in deliveries { add(String(decoding: delivery.line, as: UTF8.self)) }
    }

    private func add(_ push: String) {
        let waiter = state.withLock { state -> CheckedContinuation<String, Never>? in
            state.pushes.append(push)
            guard !state.waiters.isEmpty else { return nil }
            state.awaited += 1
            return state.waiters.removeFirst()
        }
        waiter?.resume(returning: push)
    }

    func next() async -> String {
        await withCheckedContinuation { continuation in
            let push = state.withLock { state -> String? in
                guard state.awaited < state.pushes.count else {
                    state.waiters.append(continuation)
                    return nil
                }
                state.awaited += 1
                return state.pushes[state.awaited - 1]
            }
            if let push { continuation.resume(returning: push) }
        }
    }
}
