import Synchronization

/// What any thread may read about a pool: how many pushes it may have in flight now, besides its ``PoolState/late``
/// pushes, and whether its server is unresponsive.
final class Allowance: Sendable {
    private let value = Atomic(1)
    private let unresponsive = Atomic(false)

    /// See ``PoolState/timedOutInLastWindow``.
    var isServerUnresponsive: Bool {
        get { unresponsive.load(ordering: .relaxed) }
        set { unresponsive.store(newValue, ordering: .relaxed) }
    }

    var count: Int {
        get { value.load(ordering: .relaxed) }
        set { value.store(newValue, ordering: .relaxed) }
    }
}
