import Synchronization

/// How many pushes a pool may have in flight now, besides its ``PoolState/late`` pushes. Any thread may read the
/// number.
final class Allowance: Sendable {
    private let value = Atomic(1)
    private let unresponsive = Atomic(false)

    /// See ``PoolState/timedOutInLastWindow``.
    var isUnresponsive: Bool {
        get { unresponsive.load(ordering: .relaxed) }
        set { unresponsive.store(newValue, ordering: .relaxed) }
    }

    var count: Int {
        get { value.load(ordering: .relaxed) }
        set { value.store(newValue, ordering: .relaxed) }
    }
}
