import Inspect
import PipelineKit
import PipelineRuntime

/// Sends dead letters through ingest's door, one after the other. Needs a thread of its own.
struct RedriveSending: Sendable {
    /// The plan of the stage with the door; nil if only the door's address is known.
    let plan: HostPlan?
    let door: String
    /// How long the door may be silent.
    let silenceMax: Duration
    let letters: [DeadLetter]
    let commands: RedriveCommands
    /// See ``RedrivePlan/continuation``.
    let continuation: String

    /// - Throws: ``ToolFailure`` if sending fails. The message contains the number of letters redriven before.
    func run() throws -> RedriveTotals {
        let socket = try ToolSocket.make(plan, try HostContext())
        defer { socket.close() }
        let producer = try Producer(
            socket, endpoint: door, name: ProducerName.unique(), secret: ProducerSecret.random())
        let run = Run(producer, silenceMax: silenceMax)
        do { try run.send(letters, commands) } catch {
            run.countLostAnswers()
            guard let failure = ToolFailure(explaining: error) else { throw error }
            throw ToolFailure(
                failure.status,
                "\(failure.message)\n\(run.totals.accepted.of("letter")) redriven before that; to send the others: "
                    + continuation)
        }
        run.countLostAnswers()
        return run.totals
    }
}

/// One run of ``RedriveSending``. Belongs to one thread.
private final class Run {
    private let producer: Producer
    private let silenceMax: Duration
    private var lastAnswer = ContinuousClock.now
    /// The letters that the door has not answered yet, by the line numbers under which the producer sends them.
    private var unanswered: [UInt64: EventPlace] = [:]
    /// The number of letters whose answers were lost when the door restarted. The door accepted or refused these
    /// letters.
    private var lostAnswers = 0
    private var progress = ProgressLine()
    private(set) var totals = RedriveTotals()

    init(_ producer: Producer, silenceMax: Duration) {
        (self.producer, self.silenceMax) = (producer, silenceMax)
        producer.onAnswer = { [unowned self] in receive($0) }
        producer.onLostAnswers = { [unowned self] in receive($0) }
    }

    func send(_ letters: [DeadLetter], _ commands: RedriveCommands) throws {
        var next = try producer.greet(timeout: silenceMax) + 1
        lastAnswer = .now
        defer { progress.clear() }
        for letter in letters {
            let line: [UInt8]
            do { line = try commands.command(letter) } catch let failure as RedriveCommands.ImpossibleCommand {
                totals.refused += 1
                totals.refusals.append(.init(letter: letter.place, reason: failure.reason))
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
    }

    private func step() throws {
        guard .now - lastAnswer < silenceMax else { throw producer.silence(waited: silenceMax) }
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
        lostAnswers += lost.lines.count
        unanswered = unanswered.filter { $0.key > lost.lines.upperBound }
    }

    /// Counts the letters whose answers were lost. The door usually says how many of these letters it refused, but
    /// never which. If it has not said how many, all of them count as accepted.
    func countLostAnswers() {
        let refused = Int(producer.refusedWithoutAnswer ?? 0)
        totals.accepted += lostAnswers - refused
        totals.refused += refused
    }
}
