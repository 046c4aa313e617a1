/// Answers to producers that wait until what they acknowledge is durable.
struct DoorAnswers {
    private struct Waiting {
        let peer: [UInt8]
        let frame: [UInt8]
        let needs: UInt64
    }

    private var waiting: [Waiting] = []

    /// - Parameter needs: The sequence up to which the log must be durable first.
    mutating func add(_ frame: [UInt8], to peer: [UInt8], needs: UInt64) {
        waiting.append(Waiting(peer: peer, frame: frame, needs: needs))
    }

    mutating func send(over door: any MessageSocket, durable: UInt64) throws {
        let ready = waiting.prefix { $0.needs <= durable }
        for answer in ready { _ = try door.send([answer.peer, answer.frame], wait: false) }
        waiting.removeFirst(ready.count)
    }
}
