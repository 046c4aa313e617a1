import PipelineKit

/// Records how the transports sent each push, and derives from this which outcomes must say that their push may repeat.
struct RepeatTally: Sendable {
    /// One receipt for each time that a push was sent.
    private var sendings: [Delivery.ID: Set<String>] = [:]
    private var repeated: Set<Delivery.ID> = []
    private var doubted: Set<Delivery.ID> = []
    /// If false, some outcomes may say without cause that their push may repeat. If true, each outcome that says this
    /// must have a cause: ``mayRepeat(_:recordedReceipts:)`` is true, or the push's transport said so.
    var isExact = true

    mutating func noteSending(of id: Delivery.ID, _ receipt: String) { sendings[id, default: []].insert(receipt) }
    /// Notes that a push was sent again by another process or over another transport, after its first answer said that
    /// it was still in flight.
    mutating func noteRepeat(of id: Delivery.ID) { repeated.insert(id) }
    /// Notes that the transport itself said that the push may repeat.
    mutating func noteDoubt(of id: Delivery.ID) { doubted.insert(id) }

    func isDoubted(_ id: Delivery.ID) -> Bool { doubted.contains(id) }

    /// Whether the outcome of a push must say that the push may repeat. There are two causes: a sending of the push has
    /// no recorded answer, or the push was sent again by another process or over another transport after its first
    /// answer said that it was still in flight.
    ///
    /// - Parameter recorded: The receipts of the push's recorded answers.
    func mayRepeat(_ id: Delivery.ID, recordedReceipts recorded: Set<String>) -> Bool {
        !sendings[id, default: []].isSubset(of: recorded) || repeated.contains(id)
    }
}
