import EventLog
import JSON
import PipelineKit

/// The pushes whose devices are still to be heard of, in the order of the pushes.
///
/// A push's outcomes are written in the order of its devices, when every earlier push's are written. So the log is the
/// same whichever transport was faster, and however the pushes were cut into windows.
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
        private(set) var lines: [Line] = []
        private var unsettled = 0
        /// Lines that were given to be written before the rest.
        private var given = 0
        private var hasNews = false

        init(push: UInt64, at time: Instant, outcome: OutcomeText) {
            (self.push, self.time, self.outcome) = (push, time, outcome)
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
            hasNews = true
        }

        /// What is left of it to be written.
        var rest: Entry {
            guard given > 0 else { return self }
            var rest = self
            rest.lines.removeFirst(given)
            return rest
        }

        /// The lines up to the first that is not answered, each given once; nil where no answer has brought any.
        mutating func takeBeginning() -> Entry? {
            guard hasNews else { return nil }
            hasNews = false
            let end = lines[given...].firstIndex { !$0.isAnswered } ?? lines.count
            guard end > given else { return nil }
            var beginning = self
            beginning.lines = Array(lines[given..<end])
            given = end
            return beginning
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

    /// What is to be written next: a push that is settled, or the beginning of one that is being answered.
    mutating func next() -> Entry? {
        guard taken < order.count, let entry = entries[order[taken]] else { return nil }
        guard entry.isSettled else { return entries[order[taken]]?.takeBeginning() }
        entries[order[taken]] = nil
        taken += 1
        if taken == order.count || taken >= 4_096 {
            order.removeFirst(taken)
            taken = 0
        }
        return entry.rest
    }
}
