import EventLog
import Foundation
import Synchronization
import Testing

@Suite struct IdleQueueTests {
    /// A thread inherits the policy of the one that starts it, and Dispatch starts its own wherever one is asked for.
    @Test func onlyTheFirstPartWaitsForAnIdleProcessor() async throws {
        let policies = Policies()
        let queue = FileCalls().makeIdleQueue()
        await withCheckedContinuation { continuation in
            queue.later(whileIdle: { policies.add() }, then: {
                policies.add()
                Thread.detachNewThread {
                    policies.add()
                    continuation.resume()
                }
            })
        }
        // SCHED_IDLE, then SCHED_OTHER: sched(7).
        #expect(policies.all == [5, 0, 0])
    }
}

private final class Policies: Sendable {
    private let list = Mutex<[CInt]>([])
    var all: [CInt] { list.withLock { $0 } }
    func add() { list.withLock { $0.append(sched_getscheduler(0)) } }
}
