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
        /// Whether the push is one of the past.
        let isRedrive: Bool
        private(set) var lines: [Line] = []
        private var unsettled = 0
        /// Lines that were given to be written before the rest.
        private var given = 0
        private var hasNews = false

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

    /// What is to be written next: a push that is settled, or the beginning of one that is being answered.
    mutating func next() -> Entry? {
        guard taken < entries.count else { return nil }
        guard entries[taken].isSettled else { return entries[taken].takeBeginning() }
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
        return entry.rest
    }
}
