import PipelineKit

/// What transports know of pushes that went out more than once.
struct RepeatTally: Sendable {
    private var handouts: [Delivery.ID: Int] = [:]
    /// Last answers that came to pushes which were not asked for again.
    private var unasked: [Delivery.ID: Int] = [:]
    private var repeated: Set<Delivery.ID> = []
    private var doubted: Set<Delivery.ID> = []
    /// Whether no push may be marked that did not go out twice.
    var isExact = true

    mutating func noteHandout(of id: Delivery.ID) { handouts[id, default: 0] += 1 }
    mutating func noteUnasked(of id: Delivery.ID) { unasked[id, default: 0] += 1 }
    mutating func noteRepeat(of id: Delivery.ID) { repeated.insert(id) }
    /// Its transport said so itself.
    mutating func noteDoubt(of id: Delivery.ID) { doubted.insert(id) }

    func isDoubted(_ id: Delivery.ID) -> Bool { doubted.contains(id) }

    /// - Parameters:
    ///   - recorded: How many of its answers are on record.
    ///   - isAccepted: Whether the last of them is that it was accepted, as all are that come unasked.
    func mayRepeat(_ id: Delivery.ID, _ recorded: Int, isAccepted: Bool) -> Bool {
        let asked = recorded - (isAccepted ? unasked[id, default: 0] : 0)
        return handouts[id, default: 0] > asked || repeated.contains(id)
    }
}
