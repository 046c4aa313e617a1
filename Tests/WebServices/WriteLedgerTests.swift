import TestSupport
import Testing

@testable import WebServices

@Suite("Writes between the door and the store")
struct WriteLedgerTests {
    typealias Ledger = WriteLedger<String, Int>

    @Test func `a write ends when its events are in the store, even before the door's answer`() {
        var ledger = Ledger(answered: 0, applied: 0)
        ledger.sent("a", asLine: 1)
        let stored = ledger.stored(through: 1, events: [("a", 7)])
        #expect(stored.texts == ["end a stored [7]"])
        #expect(ledger.answered(through: 1, last: 1, refusals: [:]).isEmpty)
        #expect(ledger.count == 0)
    }

    @Test func `a refused line ends its write with the refusal's code`() {
        var ledger = Ledger(answered: 4, applied: 9)
        ledger.sent("a", asLine: 5)
        let refusal = Ledger.Refusal(code: "record.exists", path: "operations[0]", reason: "it exists")
        #expect(ledger.answered(through: 5, last: 9, refusals: [5: refusal]).texts == ["end a refused record.exists"])
    }

    @Test func `an accepted write without events ends when the store has applied the sequence that the door named`() {
        var ledger = Ledger(answered: 0, applied: 3)
        ledger.sent("a", asLine: 1)
        #expect(ledger.answered(through: 1, last: 5, refusals: [:]).isEmpty)
        #expect(ledger.stored(through: 4, events: []).isEmpty)
        #expect(ledger.stored(through: 5, events: []).texts == ["end a stored []"])
    }

    @Test func `a write whose answer was lost is sent again only when the store shows that it made no event`() {
        var ledger = Ledger(answered: 0, applied: 0)
        ledger.sent("a", asLine: 1)
        ledger.sent("b", asLine: 2)
        #expect(ledger.answersLost(through: 2, last: 8).isEmpty)
        #expect(ledger.stored(through: 8, events: [("b", 8)]).texts == ["end b stored [8]", "send again a"])
        ledger.sent("a", asLine: 3)
        #expect(ledger.stored(through: 9, events: [("a", 9)]).texts == ["end a stored [9]"])
    }

    @Test func `events of writes that were not sent are ignored`() {
        var ledger = Ledger(answered: 0, applied: 0)
        #expect(ledger.stored(through: 2, events: [("x", 1), ("y", 2)]).isEmpty)
    }

    /// A log, a door that loses answers, and a store that lags.
    private struct Simulation {
        var ledger = Ledger(answered: 0, applied: 0)
        /// The ID of each event's write.
        var log: [String] = []
        /// The ID of each line's write.
        var lines: [String] = []
        /// The last line that the door has read.
        var doorThrough: UInt64 = 0
        var refusals: [UInt64: Ledger.Refusal] = [:]
        var applied = 0
        var ends: [String: String] = [:]
        var queue: [String] = []
        /// The writes that the door refuses.
        let refused: Set<String>
        /// The writes that make no event if the door accepts them.
        let withoutEvents: Set<String>

        mutating func perform(_ actions: [Ledger.Action]) {
            for action in actions {
                switch action {
                case .end(let id, let end):
                    #expect(ends.updateValue("\(end)", forKey: id) == nil, "\(id) ended twice")
                case .sendAgain(let id): queue.append(id)
                }
            }
        }

        mutating func send() {
            guard !queue.isEmpty else { return }
            lines.append(queue.removeFirst())
            ledger.sent(lines[lines.count - 1], asLine: UInt64(lines.count))
        }

        /// The door reads one line. The line makes an event, makes no event, or is refused.
        mutating func admit() {
            guard doorThrough < lines.count else { return }
            let id = lines[Int(doorThrough)]
            doorThrough += 1
            if refused.contains(id) {
                refusals[doorThrough] = Ledger.Refusal(code: "no", path: "", reason: "")
            } else if !withoutEvents.contains(id) {
                log.append(id)
            }
        }

        mutating func answer() {
            perform(ledger.answered(through: doorThrough, last: UInt64(log.count), refusals: refusals))
        }

        mutating func loseAnswers() {
            refusals = [:]
            perform(ledger.answersLost(through: doorThrough, last: UInt64(log.count)))
        }

        mutating func store(_ count: Int) {
            let end = min(log.count, applied + count)
            let events = log[applied..<end].enumerated().map { (id: $1, event: applied + $0 + 1) }
            applied = end
            perform(ledger.stored(through: UInt64(end), events: events))
        }
    }

    @Test(arguments: 0..<40)
    func `each write ends once and makes its event at most once, whatever answers are lost`(round: Int) {
        var random = Seeded(Seeded.ofThisRun &+ UInt64(round) << 20)
        let ids = (0..<30).map { "w\($0)" }
        var simulation = Simulation(
            refused: Set(ids.filter { _ in Int.random(in: 0..<4, using: &random) == 0 }),
            withoutEvents: Set(ids.filter { _ in Int.random(in: 0..<6, using: &random) == 0 }))
        simulation.queue = ids
        for step in 0..<2_000 where simulation.ends.count < ids.count {
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1: simulation.send()
            case 2: simulation.admit()
            case 3: simulation.answer()
            case 4 where step < 1_000: simulation.loseAnswers()
            default: simulation.store(Int.random(in: 1...4, using: &random))
            }
        }
        #expect(simulation.ends.count == ids.count)
        #expect(Set(simulation.log).count == simulation.log.count, "a write made its event twice")
        for id in ids where simulation.refused.contains(id) {
            #expect(simulation.ends[id]?.hasPrefix("refused") == true)
        }
    }
}

extension [WriteLedger<String, Int>.Action] {
    fileprivate var texts: [String] {
        map { action in
            switch action {
            case .end(let id, .stored(let events)): "end \(id) stored \(events)"
            case .end(let id, .refused(let refusal)): "end \(id) refused \(refusal.code)"
            case .sendAgain(let id): "send again \(id)"
            }
        }
    }
}
