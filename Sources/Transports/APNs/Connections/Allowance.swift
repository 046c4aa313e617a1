import Synchronization

/// How many pushes a pool may have under way now, for others to read.
final class Allowance: Sendable {
    private let value = Atomic(1)

    var count: Int {
        get { value.load(ordering: .relaxed) }
        set { value.store(newValue, ordering: .relaxed) }
    }
}
