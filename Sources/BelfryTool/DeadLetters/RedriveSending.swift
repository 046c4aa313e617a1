import Inspect
import PipelineKit
import PipelineRuntime

/// Sends letters through ingest's door, one after the other. For a thread of its own.
struct RedriveSending: Sendable {
    let plan: HostPlan?
    let door: String
    let patience: Duration
    let letters: [Letter]
    let commands: RedriveCommands

    /// - Throws: ``ToolFailure`` with how far it came, where the door falls silent.
    func run() throws -> RedriveTotals {
        let socket = try ProducerSocket.make(plan, try HostContext())
        defer { socket.close() }
        let producer = try Producer(
            socket, endpoint: door, name: ProducerName.passing, secret: ProducerSecret.drawn())
        let run = Run(producer, patience)
        do { try run.send(letters, commands) } catch {
            guard let failure = ToolFailure(explaining: error) else { throw error }
            throw ToolFailure(
                failure.status,
                "\(failure.message)\n\(run.totals.taken.of("letter")) redriven before that; the same again goes on behind "
                    + "them, for what is redriven is obsolete")
        }
        return run.totals
    }
}

/// Belongs to one thread.
private final class Run {
    private let producer: Producer
    private let patience: Duration
    private var heard = ContinuousClock.now
    /// By their numbers at the door.
    private var sent: [UInt64: EventPlace] = [:]
    private var progress = ProgressLine()
    private(set) var totals = RedriveTotals()

    init(_ producer: Producer, _ patience: Duration) {
        (self.producer, self.patience) = (producer, patience)
        producer.onAnswer = { [unowned self] in take($0) }
    }

    func send(_ letters: [Letter], _ commands: RedriveCommands) throws {
        var next = try producer.greet(timeout: patience) + 1
        heard = .now
        defer { progress.clear() }
        for letter in letters {
            let line: [UInt8]
            do { line = try commands.command(letter) } catch let unfit as RedriveCommands.Unfit {
                totals.refused += 1
                totals.refusals.append(.init(letter: letter.place, reason: unfit.reason))
                continue
            }
            while !producer.hasRoom { try step() }
            sent[next] = letter.place
            next += 1
            try producer.send(line + [UInt8(ascii: "\n")], count: 1)
            try producer.pump(wait: .zero)
            progress.show("\(totals.taken.grouped) of \(letters.count.grouped) taken")
        }
        while !producer.isDone { try step() }
    }

    private func step() throws {
        guard .now - heard < patience else { throw producer.silence(waited: patience) }
        try producer.pump(wait: .milliseconds(100))
    }

    private func take(_ answer: Producer.Answer) {
        heard = .now
        totals.taken += answer.accepted
        totals.refused += answer.refused
        for refusal in answer.refusals {
            guard let letter = sent[refusal.line] else { continue }
            let path = refusal.path.isEmpty ? "" : refusal.path + ": "
            totals.refusals.append(.init(letter: letter, reason: "\(path)\(refusal.reason) (\(refusal.code))"))
        }
        sent = sent.filter { $0.key > answer.through }
    }
}
