import PipelineKit

/// What transports know of pushes that went out more than once.
struct RepeatTally: Sendable {
    private var handouts: [Delivery.ID: Int] = [:]
    private var repeated: Set<Delivery.ID> = []
    private var doubted: Set<Delivery.ID> = []
    /// Whether no push may be marked that did not go out twice.
    var isExact = true

    mutating func noteHandout(of id: Delivery.ID) { handouts[id, default: 0] += 1 }
    mutating func noteRepeat(of id: Delivery.ID) { repeated.insert(id) }
    /// Its transport said so itself.
    mutating func noteDoubt(of id: Delivery.ID) { doubted.insert(id) }

    func isDoubted(_ id: Delivery.ID) -> Bool { doubted.contains(id) }

    /// - Parameter recorded: How many of its answers are on record.
    func mayRepeat(_ id: Delivery.ID, _ recorded: Int) -> Bool {
        handouts[id, default: 0] > recorded || repeated.contains(id)
    }
}
