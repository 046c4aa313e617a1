import JSON
import PipelineKit
import Time

/// The pushes that were handed out for the first time and wait for answers.
///
/// A device's outcome is written when its answer comes, independently of other devices and pushes. A push may
/// have ended or be held at some of its devices. Its events for these devices need no answer: each is written right
/// after the event for the previous device. So the outcomes of a push are in the order of its devices if the answers
/// come in that order and the push waits at none of the devices.
struct OutcomeLedger {
    /// The state of a push at a device.
    enum Result {
        /// The push was handed out to a transport.
        case handedOut
        /// The push has ended without a transport.
        case ended(OutcomeCode)
        /// The push waits, because the device's app is stopped.
        case held
    }

    /// A push at one device.
    struct Line {
        let device: Device
        let id: PositionID
        /// The delivery to the transport; nil if the push has ended without a transport.
        var delivery: Delivery?
        var result: Result
        /// The key that this push shares with newer pushes that replace it; nil if no push can replace it.
        var collapseKey: [UInt8]?
        /// The older waiting push that this push replaces.
        var replaced: PendingKey?
        /// The newer push that replaces this push and came while this push waited for its answer.
        var superseder: UInt64?

        var awaitsAnswer: Bool { if case .handedOut = result { true } else { false } }
        /// Whether a transport gets the push, now or when its app is resumed.
        var isTransported: Bool { if case .ended = result { false } else { true } }
    }

    /// The properties of an arrived push that are the same at all devices.
    struct Arrival {
        /// The sequence of the push.
        let push: UInt64
        let time: Instant
        let outcome: OutcomeText
    }

    struct Entry {
        let arrival: Arrival
        fileprivate(set) var lines: [Line]

        fileprivate mutating func settle(_ device: String) -> SettledLines? {
            guard let first = lines.firstIndex(where: { $0.awaitsAnswer && $0.device.isNamed(device) }) else {
                return nil
            }
            let end = lines[(first + 1)...].firstIndex { $0.awaitsAnswer } ?? lines.count
            var settled: [Line] = []
            if end - first == lines.count {
                swap(&settled, &lines)
            } else {
                settled = Array(lines[first..<end])
                lines.removeSubrange(first..<end)
            }
            return SettledLines(arrival: arrival, lines: settled, isLast: lines.isEmpty)
        }
    }

    /// The lines of a push whose outcomes can be written after an answer.
    struct SettledLines {
        let arrival: Arrival
        let lines: [Line]
        /// Whether these are the last lines of the push.
        let isLast: Bool
    }

    private var entries: [UInt64: Entry] = [:]
    /// The lines in the ledger by their collapse keys.
    private var byCollapseKey: [[UInt8]: [PendingKey]] = [:]

    /// The pushes of the ledger in order, from the index `orderStart` on. The first of them still waits for an answer.
    /// Some of the others may have ended.
    private var order: [UInt64] = []
    private var orderStart = 0

    var isEmpty: Bool { entries.isEmpty }
    /// The oldest push that waits for an answer.
    var first: UInt64? { orderStart < order.count ? order[orderStart] : nil }

    /// The entries in the order of their pushes.
    var inOrder: [Entry] { entries.values.sorted { $0.arrival.push < $1.arrival.push } }

    /// Adds a push. Its first line must wait for an answer.
    mutating func insert(_ arrival: Arrival, _ lines: [Line]) {
        precondition(lines.first?.awaitsAnswer == true, "the first line of push \(arrival.push) waits for no answer")
        entries[arrival.push] = Entry(arrival: arrival, lines: lines)
        order.append(arrival.push)
        for line in lines {
            guard let key = line.collapseKey else { continue }
            byCollapseKey[key, default: []].append(PendingKey(push: arrival.push, device: line.device.name))
        }
    }

    /// Removes the line that is answered, and the following lines that need no answer.
    ///
    /// - Returns: The removed lines; nil if no answer is awaited for the push at that device.
    mutating func settle(_ id: Delivery.ID) -> SettledLines? {
        guard let index = entries.index(forKey: id.push), let settled = entries.values[index].settle(id.device)
        else { return nil }
        if settled.isLast {
            entries.remove(at: index)
            dropEnded()
        }
        if !byCollapseKey.isEmpty { for line in settled.lines { forget(line, of: settled.arrival) } }
        return settled
    }

    private mutating func dropEnded() {
        while orderStart < order.count, entries.index(forKey: order[orderStart]) == nil { orderStart += 1 }
        guard orderStart == order.count || orderStart >= 4_096 else { return }
        order.removeFirst(orderStart)
        orderStart = 0
    }

    private mutating func forget(_ line: Line, of arrival: Arrival) {
        guard let key = line.collapseKey else { return }
        byCollapseKey[key]?.removeAll { $0.push == arrival.push }
        if byCollapseKey[key]?.isEmpty == true { byCollapseKey[key] = nil }
    }

    /// Marks the older pushes with the collapse key as superseded by a new push, unless they are already superseded.
    mutating func noteSuperseder(_ push: UInt64, of collapseKey: [UInt8]) {
        guard !byCollapseKey.isEmpty, let older = byCollapseKey[collapseKey] else { return }
        for key in older {
            guard let index = entries.index(forKey: key.push) else { continue }
            let line = entries.values[index].lines.firstIndex { $0.device.isNamed(key.device.string) }
            if let line, entries.values[index].lines[line].superseder == nil {
                entries.values[index].lines[line].superseder = push
            }
        }
    }

    /// The deliveries without an answer, in the order of their pushes.
    func deliveries(where isIncluded: (Device) -> Bool = { _ in true }) -> [Delivery] {
        inOrder.flatMap { entry in
            entry.lines.compactMap { $0.awaitsAnswer && isIncluded($0.device) ? $0.delivery : nil }
        }
    }
}
