import Inspect
import PipelineKit
import PipelineRuntime

/// Sends dead letters through ingest's door, one after the other. Needs a thread of its own.
struct RedriveSending: Sendable {
    let plan: HostPlan?
    let door: String
    let patience: Duration
    let letters: [DeadLetter]
    let commands: RedriveCommands

    /// - Throws: ``ToolFailure`` if sending fails. The message contains the number of letters redriven before.
    func run() throws -> RedriveTotals {
        let socket = try ToolSocket.make(plan, try HostContext())
        defer { socket.close() }
        let producer = try Producer(
            socket, endpoint: door, name: ProducerName.unique(), secret: ProducerSecret.drawn())
        let run = Run(producer, patience)
        do { try run.send(letters, commands) } catch {
            guard let failure = ToolFailure(explaining: error) else { throw error }
            throw ToolFailure(
                failure.status,
                "\(failure.message)\n\(run.totals.accepted.of("letter")) redriven before that; run the same command again to "
                    + "send the others")
        }
        return run.totals
    }
}

/// One run of ``RedriveSending``. Belongs to one thread.
private final class Run {
    private let producer: Producer
    private let patience: Duration
    private var lastAnswer = ContinuousClock.now
    /// The letters that the door has not answered yet, by their line numbers at the door.
    private var unanswered: [UInt64: EventPlace] = [:]
    /// How many letters the door accepted or refused without an answer, because it restarted.
    private var withoutAnswer = 0
    private var progress = ProgressLine()
    private(set) var totals = RedriveTotals()

    init(_ producer: Producer, _ patience: Duration) {
        (self.producer, self.patience) = (producer, patience)
        producer.onAnswer = { [unowned self] in receive($0) }
        producer.onLostAnswers = { [unowned self] in receive($0) }
    }

    func send(_ letters: [DeadLetter], _ commands: RedriveCommands) throws {
        var next = try producer.greet(timeout: patience) + 1
        lastAnswer = .now
        defer { progress.clear() }
        for letter in letters {
            let line: [UInt8]
            do { line = try commands.command(letter) } catch let unfit as RedriveCommands.Unfit {
                totals.refused += 1
                totals.refusals.append(.init(letter: letter.place, reason: unfit.reason))
                continue
            }
            while !producer.hasRoom { try step() }
            unanswered[next] = letter.place
            next += 1
            try producer.send(line + [UInt8(ascii: "\n")], count: 1)
            try producer.pump(wait: .zero)
            progress.show("\(totals.accepted.grouped) of \(letters.count.grouped) redriven")
        }
        while !producer.isDone { try step() }
        countUnanswered()
    }

    private func step() throws {
        guard .now - lastAnswer < patience else { throw producer.silence(waited: patience) }
        try producer.pump(wait: .milliseconds(100))
    }

    private func receive(_ answer: Producer.Answer) {
        lastAnswer = .now
        totals.accepted += answer.accepted
        totals.refused += answer.refused
        for refusal in answer.refusals {
            guard let letter = unanswered[refusal.line] else { continue }
            let path = refusal.path.isEmpty ? "" : refusal.path + ": "
            totals.refusals.append(.init(letter: letter, reason: "\(path)\(refusal.reason) (\(refusal.code))"))
        }
        unanswered = unanswered.filter { $0.key > answer.through }
    }

    private func receive(_ lost: Producer.LostAnswers) {
        lastAnswer = .now
        withoutAnswer += lost.lines.count
        unanswered = unanswered.filter { $0.key > lost.lines.upperBound }
    }

    /// The door knows how many of these letters it refused, but not which.
    private func countUnanswered() {
        let refused = Int(producer.refusedWithoutAnswer ?? 0)
        totals.accepted += withoutAnswer - refused
        totals.refused += refused
    }
}
