import Synchronization

/// How many pushes a pool may have under way now, for others to read.
final class Allowance: Sendable {
    private let value = Atomic(1)
    private let silent = Atomic(false)

    /// Whether the server was waited for in vain, and has not answered since.
    var isSilent: Bool {
        get { silent.load(ordering: .relaxed) }
        set { silent.store(newValue, ordering: .relaxed) }
    }

    var count: Int {
        get { value.load(ordering: .relaxed) }
        set { value.store(newValue, ordering: .relaxed) }
    }
}
