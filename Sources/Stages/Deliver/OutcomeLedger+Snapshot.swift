import PipelineKit
import Time

extension OutcomeLedger.Entry {
    func write(into snapshot: inout SnapshotWriter) {
        snapshot.write(arrival.push)
        snapshot.write(arrival.time)
        arrival.outcome.write(into: &snapshot)
        snapshot.write(lines.first?.delivery?.unpruned) { $1.write($0) }
        snapshot.write(all: lines) { $0.write(into: &$1) }
    }
}

extension OutcomeLedger {
    mutating func insert(
        from snapshot: inout SnapshotReader, _ registry: inout DeviceRegistry
    ) throws(SnapshotError) {
        let (push, time) = (try snapshot.number(), try snapshot.instant())
        let arrival = Arrival(push: push, time: time, outcome: try OutcomeText(from: &snapshot))
        let unpruned = try snapshot.optional { snapshot throws(SnapshotError) in try snapshot.array() }
        var lines: [Line] = []
        for _ in 0..<(try snapshot.count(bytesEach: 8)) {
            lines.append(try Line(from: &snapshot, &registry, of: push, unpruned))
        }
        guard lines.first?.awaitsAnswer == true else {
            throw snapshot.error("a push that was handed out waits for no answer")
        }
        insert(arrival, lines)
    }
}

extension OutcomeLedger.Line {
    fileprivate func write(into snapshot: inout SnapshotWriter) {
        device.writeWhole(into: &snapshot)
        snapshot.write(id.high)
        snapshot.write(id.low)
        snapshot.write(delivery?.head ?? [])
        snapshot.write(delivery?.rest ?? [])
        result.write(into: &snapshot)
        snapshot.write(replaced) { $0.write(into: &$1) }
        snapshot.write(superseder) { $1.write($0) }
    }

    fileprivate init(
        from snapshot: inout SnapshotReader, _ registry: inout DeviceRegistry, of push: UInt64, _ unpruned: [UInt8]?
    ) throws(SnapshotError) {
        device = try registry.device(from: &snapshot)
        id = PositionID(high: try snapshot.number(), low: try snapshot.number())
        let (head, rest) = (try snapshot.array(), try snapshot.array())
        result = try OutcomeLedger.Result(from: &snapshot)
        if isTransported {
            delivery = Delivery(push: push, at: device, head: head, rest: rest, unpruned: unpruned)
        }
        collapseKey = PushHeaders(head: head, rest: rest).collapseID.map(device.collapseKey)
        replaced = try snapshot.optional { snapshot throws(SnapshotError) in try PendingKey(from: &snapshot) }
        superseder = try snapshot.optional { snapshot throws(SnapshotError) in try snapshot.number() }
    }
}

extension OutcomeLedger.Result {
    fileprivate func write(into snapshot: inout SnapshotWriter) {
        switch self {
        case .handedOut: snapshot.write("out")
        case .held: snapshot.write("held")
        case .ended(let code): snapshot.write(code.rawValue)
        }
    }

    fileprivate init(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        let word = try snapshot.text()
        switch word {
        case "out": self = .handedOut
        case "held": self = .held
        default:
            guard let code = OutcomeCode(rawValue: word) else { throw snapshot.error("outcome \"\(word)\" is unknown") }
            self = .ended(code)
        }
    }
}
