import PipelineKit

/// What transports know of pushes that went out more than once.
struct RepeatTally: Sendable {
    /// Each sending of a push, by the receipt that its answers have.
    private var sendings: [Delivery.ID: Set<String>] = [:]
    private var repeated: Set<Delivery.ID> = []
    private var doubted: Set<Delivery.ID> = []
    /// Whether no push may be marked that did not go out twice.
    var isExact = true

    mutating func noteSending(of id: Delivery.ID, _ receipt: String) { sendings[id, default: []].insert(receipt) }
    mutating func noteRepeat(of id: Delivery.ID) { repeated.insert(id) }
    /// Its transport said so itself.
    mutating func noteDoubt(of id: Delivery.ID) { doubted.insert(id) }

    func isDoubted(_ id: Delivery.ID) -> Bool { doubted.contains(id) }

    /// - Parameter recorded: The receipts of its answers that are on record.
    func mayRepeat(_ id: Delivery.ID, _ recorded: Set<String>) -> Bool {
        !sendings[id, default: []].isSubset(of: recorded) || repeated.contains(id)
    }
}
