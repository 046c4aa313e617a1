import JSON
import PipelineKit
import Time

/// The pushes that were handed out for the first time, until their devices are heard of.
///
/// A device's outcome is written when its answer comes, whatever became of earlier pushes and of other devices. A device
/// for which no transport is asked has its outcome behind that of the device before it: where answers come at once and in
/// order, the outcomes of a push are in the order of its devices.
struct OutcomeLedger {
    /// What is known of a push at a device.
    enum Result {
        /// A transport was asked.
        case out
        /// The outcome: no transport is asked.
        case ended(OutcomeCode)
        /// The device's app is held: no transport is asked, and the push waits.
        case held
    }

    struct Line {
        let device: Device
        let id: PositionID
        /// What a transport gets; nil where none is asked.
        var delivery: Delivery?
        var result: Result
        /// What it shares with the pushes that replace it; nil where nothing does.
        var collapseKey: [UInt8]?
        /// The older push that waits, and that this one replaces.
        var overtaken: PendingKey?
        /// The newer push that came while this one was out.
        var superseder: UInt64?

        var isOut: Bool { if case .out = result { true } else { false } }
        /// Whether a transport gets it, now or when its app is resumed.
        var isTransported: Bool { if case .ended = result { false } else { true } }
    }

    /// What the devices of a push have in common.
    struct Origin {
        let push: UInt64
        let time: Instant
        let outcome: OutcomeText
    }

    struct Entry {
        let origin: Origin
        fileprivate(set) var lines: [Line]

        fileprivate mutating func settle(_ device: String) -> Settled? {
            guard let first = lines.firstIndex(where: { $0.isOut && $0.device.isNamed(device) }) else { return nil }
            let end = lines[(first + 1)...].firstIndex { $0.isOut } ?? lines.count
            var settled: [Line] = []
            if end - first == lines.count {
                swap(&settled, &lines)
            } else {
                settled = Array(lines[first..<end])
                lines.removeSubrange(first..<end)
            }
            return Settled(origin: origin, lines: settled, isLast: lines.isEmpty)
        }
    }

    /// What one answer settles of a push.
    struct Settled {
        let origin: Origin
        let lines: [Line]
        /// Whether the push is over.
        let isLast: Bool
    }

    private var entries: [UInt64: Entry] = [:]
    /// The pushes in it that share a collapse key.
    private var sharing: [[UInt8]: [PendingKey]] = [:]

    /// The pushes in their order, and some that are over.
    private var order: [UInt64] = []
    private var orderStart = 0

    var isEmpty: Bool { entries.isEmpty }
    /// The first push that is not over.
    var first: UInt64? { orderStart < order.count ? order[orderStart] : nil }

    /// In the order of the pushes.
    var inOrder: [Entry] { entries.values.sorted { $0.origin.push < $1.origin.push } }

    /// Keeps a push whose first device was asked for.
    mutating func insert(_ origin: Origin, _ lines: [Line]) {
        precondition(lines.first?.isOut == true, "a push is kept whose first device waits for no answer")
        entries[origin.push] = Entry(origin: origin, lines: lines)
        order.append(origin.push)
        for line in lines { if let key = line.collapseKey { sharing[key, default: []].append(Self.key(origin, line)) } }
    }

    /// Takes out the device that is answered, and those behind it that wait for no answer of their own.
    ///
    /// - Returns: Nil where the push waits for no answer of that device.
    mutating func settle(_ id: Delivery.ID) -> Settled? {
        guard let place = entries.index(forKey: id.push), let settled = entries.values[place].settle(id.device)
        else { return nil }
        if settled.isLast {
            entries.remove(at: place)
            dropOrder()
        }
        if !sharing.isEmpty { for line in settled.lines { forget(line, of: settled.origin) } }
        return settled
    }

    private mutating func dropOrder() {
        while orderStart < order.count, entries.index(forKey: order[orderStart]) == nil { orderStart += 1 }
        guard orderStart == order.count || orderStart >= 4_096 else { return }
        order.removeFirst(orderStart)
        orderStart = 0
    }

    private mutating func forget(_ line: Line, of origin: Origin) {
        guard let key = line.collapseKey else { return }
        sharing[key]?.removeAll { $0.push == origin.push }
        if sharing[key]?.isEmpty == true { sharing[key] = nil }
    }

    /// A newer push of the collapse key has come: older ones are not sent again.
    mutating func noteSuperseder(_ push: UInt64, of collapseKey: [UInt8]) {
        guard !sharing.isEmpty, let older = sharing[collapseKey] else { return }
        for key in older {
            guard let place = entries.index(forKey: key.push) else { continue }
            let line = entries.values[place].lines.firstIndex { $0.device.isNamed(key.device) }
            if let line, entries.values[place].lines[line].superseder == nil {
                entries.values[place].lines[line].superseder = push
            }
        }
    }

    private static func key(_ origin: Origin, _ line: Line) -> PendingKey {
        PendingKey(push: origin.push, device: line.device.name)
    }

    /// The deliveries that are not answered, in the order of the pushes.
    func deliveries(where isWanted: (Device) -> Bool = { _ in true }) -> [Delivery] {
        inOrder.flatMap { entry in
            entry.lines.compactMap { $0.isOut && isWanted($0.device) ? $0.delivery : nil }
        }
    }
}
