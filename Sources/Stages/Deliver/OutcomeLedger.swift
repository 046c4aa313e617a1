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

        mutating func empty() { lines = [] }

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

    /// By push, ascending; those before `taken` are empty.
    private var entries: [Entry] = []
    private var taken = 0

    /// Whether every push has all its outcomes.
    var isEmpty: Bool { taken == entries.count }

    mutating func append(_ entry: consuming Entry) { entries.append(entry) }

    mutating func settle(_ answer: TransportAnswer) {
        guard let index = index(of: answer.id.push) else { return }
        entries[index].settle(answer)
    }

    /// Most often it is the first, or the last, of those that wait.
    private func index(of push: UInt64) -> Int? {
        var (low, high) = (taken, entries.count)
        if low < high, entries[low].push == push { return low }
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].push < push { low = middle + 1 } else { high = middle }
        }
        return low < entries.count && entries[low].push == push ? low : nil
    }

    /// The next push, if it is settled.
    mutating func next() -> Entry? {
        guard taken < entries.count, entries[taken].isSettled else { return nil }
        let entry = entries[taken]
        entries[taken].empty()
        taken += 1
        if taken == entries.count {
            entries.removeAll(keepingCapacity: taken < 4_096)
            taken = 0
        } else if taken >= 4_096 {
            entries.removeFirst(taken)
            taken = 0
        }
        return entry
    }
}
