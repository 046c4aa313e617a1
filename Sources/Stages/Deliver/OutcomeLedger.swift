import EventLog
import JSON
import PipelineKit

/// The pushes whose devices are still to be heard of, in the order of the pushes.
///
/// A push's outcomes are written when all its devices have theirs and every earlier push's are written. So the log is
/// the same whichever transport was faster, and however the pushes were cut into windows.
struct OutcomeLedger {
    /// What is known of a push at a device.
    enum Result {
        /// Not yet: the transport was asked.
        case none
        /// The transport's word.
        case answered(TransportAnswer)
        /// The outcome, without anybody asked.
        case ended(OutcomeCode)
        /// The device's app is held: nobody was asked, and the push waits.
        case held
    }

    struct Line {
        let device: Device
        let id: PositionID
        /// The delivery's two parts; empty where there is none.
        let head: [UInt8]
        let rest: [UInt8]
        var result: Result

        var isAnswered: Bool { if case .none = result { false } else { true } }
    }

    struct Entry {
        let push: UInt64
        let time: Instant
        let outcome: OutcomeText
        /// Whether the push is one of the past.
        let isRedrive: Bool
        private(set) var lines: [Line] = []
        private var unsettled = 0

        init(push: UInt64, at time: Instant, outcome: OutcomeText, isRedrive: Bool = false) {
            (self.push, self.time, self.outcome, self.isRedrive) = (push, time, outcome, isRedrive)
        }

        var isSettled: Bool { unsettled == 0 }

        mutating func add(_ line: Line) {
            lines.append(line)
            if !line.isAnswered { unsettled += 1 }
        }

        mutating func settle(_ answer: TransportAnswer) {
            let index = lines.firstIndex { !$0.isAnswered && $0.device.isNamed(answer.id.device) }
            guard let index else { return }
            lines[index].result = .answered(answer)
            unsettled -= 1
        }
    }

    private var entries: [UInt64: Entry] = [:]
    private var order: [UInt64] = []
    private var taken = 0

    /// Whether every push has all its outcomes.
    var isEmpty: Bool { entries.isEmpty }

    mutating func append(_ entry: Entry) {
        entries[entry.push] = entry
        order.append(entry.push)
    }

    mutating func settle(_ answer: TransportAnswer) { entries[answer.id.push]?.settle(answer) }

    /// The next push, if it is settled.
    mutating func next() -> Entry? {
        guard taken < order.count, let entry = entries[order[taken]], entry.isSettled else { return nil }
        entries[order[taken]] = nil
        taken += 1
        if taken == order.count || taken >= 4_096 {
            order.removeFirst(taken)
            taken = 0
        }
        return entry
    }
}
