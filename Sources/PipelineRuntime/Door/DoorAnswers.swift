/// Answers to producers. Each waits until everything that it acknowledges is durable.
struct DoorAnswers {
    private struct Waiting {
        let peer: [UInt8]
        let frame: [UInt8]
        /// How many batches of the log must be durable before the answer is sent; nil until the answer's lines are
        /// appended.
        var neededBatches: UInt64?
    }

    private var waiting: [Waiting] = []

    mutating func add(_ frame: [UInt8], to peer: [UInt8]) { waiting.append(Waiting(peer: peer, frame: frame)) }

    /// Called when all acknowledged lines are in the log, which now has this many batches. An answer about refused
    /// lines waits too: such a line adds no event, but the log's cursor must record its number.
    mutating func noteAppended(batches: UInt64) {
        for index in waiting.indices.reversed() {
            guard waiting[index].neededBatches == nil else { return }
            waiting[index].neededBatches = batches
        }
    }

    mutating func send(over door: any MessageSocket, durableBatches: UInt64) throws {
        let ready = waiting.prefix { $0.neededBatches.map { $0 <= durableBatches } ?? false }
        for answer in ready { _ = try door.send([answer.peer, answer.frame], wait: false) }
        waiting.removeFirst(ready.count)
    }
}
