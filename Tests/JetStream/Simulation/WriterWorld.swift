import NATS
import TestSupport

@testable import JetStream

/// A rule of the writer that a test breaks, to see that the checks notice.
enum BrokenRule: CaseIterable {
    /// Messages do not name the sequence that they follow.
    case fence
    /// A message that is published again has grown.
    case sameBytes
    /// A message without an answer counts as stored.
    case unknownOutcome
    /// Every message in the slot counts as this writer's own.
    case ownership
}

/// Two hosts that append to one stream, and take it over from each other at random moments, in virtual time. Requests
/// and answers are late, lost or repeated, and a server may answer with an old state.
struct WriterWorld {
    /// One run of one host.
    struct Run {
        let name: WriterName
        var writer: FencedWriter
        var step: FencedWriter.Step?
        /// The bodies of the messages that the run began to publish, in order.
        var bodies: [[UInt8]] = []
        let first: UInt64
        var stored: [UInt64] = []
        var error: JetStreamError?
        var isFinished: Bool { error != nil || step == nil }
    }

    private enum Event {
        case request(run: Int, FencedWriter.Step)
        case answer(run: Int, step: Int, FencedWriter.Answer)
        case timer(run: Int, step: Int)
        case takeOver(host: Int)
    }

    private(set) var stream = ModelStream()
    private let streamName: StreamName
    private(set) var runs: [Run] = []
    private(set) var publishes: [NATSMessage] = []
    /// What will happen at each moment.
    private var events: [[Event]] = []
    private var now = 0
    private var random: Seeded
    private let broken: BrokenRule?
    private var isCalm = false

    private static let chaosEnd = 1500
    private static let answerTimeout = 50

    init(seed: UInt64, breaking broken: BrokenRule? = nil) throws {
        streamName = try StreamName("log")
        (random, self.broken) = (Seeded(seed), broken)
        for host in 0..<2 { schedule(.takeOver(host: host), after: random.below(30)) }
    }

    /// Runs until the faults have stopped and nothing is left to do.
    mutating func run() {
        while now < events.count {
            isCalm = now >= WriterWorld.chaosEnd
            stream.isFull = !isCalm && now / 100 % 7 == 3
            for event in events[now] { handle(event) }
            now += 1
        }
    }

    private mutating func handle(_ event: Event) {
        switch event {
        case .request(let run, let step): serve(step, of: run)
        case .answer(let run, let step, let answer): tell(answer, to: step, of: run)
        case .timer(let run, let step): tell(timeout(of: run, step), to: step, of: run)
        case .takeOver(let host): takeOver(host)
        }
    }

    // MARK: Hosts

    /// A host begins a new run at the end of the stream that it sees. Its old run continues as a zombie.
    private mutating func takeOver(_ host: Int) {
        guard !isCalm else { return }
        schedule(.takeOver(host: host), after: 50 + random.below(600))
        let lag = random.isOneIn(4) ? UInt64(random.below(3)) : 0
        let last = stream.last - min(lag, stream.last)
        // Few different process IDs, as after a restart of the machine, but a new number for each run.
        let name = WriterName(host: "h\(host)", process: Int32(random.below(2)), number: UInt64(runs.count))
        runs.append(Run(name: name, writer: FencedWriter(streamName, name: name, last: last), first: last + 1))
        publish(runs.count - 1)
    }

    /// Few different bodies, so that two writers often have equal bytes for a slot.
    private mutating func publish(_ run: Int) {
        let body = ascii("batch \(random.below(2))")
        runs[run].bodies.append(body)
        let step = runs[run].writer.publish(NATSMessage("belfry.log.batch", body: body))
        perform(step, of: run)
    }

    private mutating func perform(_ step: FencedWriter.Step, of run: Int) {
        runs[run].step = step
        switch step.action {
        case .finish(let outcome): finish(outcome, of: run)
        case .pause: schedule(.timer(run: run, step: step.number), after: 1 + random.below(10))
        case .publish, .findEnd, .readMessage:
            send(.request(run: run, changed(step, of: run)))
            schedule(.timer(run: run, step: step.number), after: WriterWorld.answerTimeout)
        }
    }

    private mutating func finish(_ outcome: FencedWriter.Outcome, of run: Int) {
        runs[run].step = nil
        switch outcome {
        case .stored(let sequence):
            runs[run].stored.append(sequence)
            if !isCalm { publish(run) }
        case .ended(let error): runs[run].error = error
        }
    }

    private mutating func tell(_ answer: FencedWriter.Answer, to number: Int, of run: Int) {
        guard runs[run].step != nil else { return }
        if let step = runs[run].writer.receive(answer, to: number) { perform(step, of: run) }
    }

    private func timeout(of run: Int, _ number: Int) -> FencedWriter.Answer {
        guard let step = runs[run].step, step.number == number else { return .none(.noAnswer) }
        if case .pause = step.action { return .resumed }
        guard broken == .unknownOutcome, case .publish = step.action else { return .none(.noAnswer) }
        return .stored(runs[run].writer.last + 1)
    }

    private mutating func changed(_ step: FencedWriter.Step, of run: Int) -> FencedWriter.Step {
        guard case .publish(var message) = step.action else { return step }
        if broken == .fence { message.headers.removeAll { $0.name == FencedWriter.expectedSequenceHeader } }
        if broken == .sameBytes, publishes.contains(where: { $0.headers == message.headers }) {
            message.body += ascii(" and more")
        }
        publishes.append(message)
        return FencedWriter.Step(number: step.number, action: .publish(message))
    }

    // MARK: Network

    /// - Parameter delay: At least 1 while the world runs.
    private mutating func schedule(_ event: Event, after delay: Int) {
        let time = now + delay
        while events.count <= time { events.append([]) }
        events[time].append(event)
    }

    /// Sends a request or an answer on its way: usually it takes up to 10, sometimes much longer than any timeout, or
    /// it is lost or comes twice.
    private mutating func send(_ event: Event) {
        if isCalm { return schedule(event, after: 1 + random.below(10)) }
        if random.isOneIn(6) { return }
        for _ in 0..<(random.isOneIn(8) ? 2 : 1) {
            let delay = random.isOneIn(8) ? random.below(800) : random.below(10)
            schedule(event, after: 1 + delay)
        }
    }

    private mutating func serve(_ step: FencedWriter.Step, of run: Int) {
        let lag = !isCalm && random.isOneIn(5) ? UInt64(random.below(3)) : 0
        var answer: FencedWriter.Answer
        switch step.action {
        case .publish(let message): answer = stream.publish(message)
        case .findEnd: answer = !isCalm && random.isOneIn(10) ? .none(.noQuorum) : stream.end(lag: lag)
        case .readMessage(let sequence): answer = stream.message(sequence, lag: lag)
        case .pause, .finish: return
        }
        if broken == .ownership, case .message(var stored?) = answer {
            stored.headers = [NATSHeader(WriterName.header, "\(runs[run].name)")]
            answer = .message(stored)
        }
        send(.answer(run: run, step: step.number, answer))
    }
}

// MARK: - Checks

extension WriterWorld {
    /// What is wrong with a history that has ended.
    var problems: [String] {
        let slots = Dictionary(grouping: stream.messages.indices) { stream.messages[$0].header(WriterName.header) }
        var problems = slotsWithDifferentBytes
        for run in runs { problems += self.problems(of: run, slots: slots["\(run.name)"] ?? []) }
        let acknowledged = runs.flatMap(\.stored)
        if Set(acknowledged).count != acknowledged.count { problems.append("a slot was given twice") }
        return problems
    }

    /// - Parameter slots: The indices of the run's messages in the stream.
    private func problems(of run: Run, slots: [Int]) -> [String] {
        var problems: [String] = []
        if !run.isFinished { problems.append("\(run.name) waits for ever") }
        if case .replaced? = run.error {} else if let error = run.error { problems.append("\(run.name): \(error)") }
        for (index, sequence) in run.stored.enumerated() {
            let body = sequence <= stream.last ? stream.messages[Int(sequence) - 1].body : nil
            if body != run.bodies[index] || sequence != run.first + UInt64(index) {
                problems.append("\(run.name): what was acknowledged as \(sequence) is not there")
            }
        }
        if slots != run.stored.map({ Int($0) - 1 }) {
            problems.append("\(run.name): \(run.stored) were acknowledged, but \(slots.map { $0 + 1 }) were stored")
        }
        return problems
    }

    /// All publishes of a writer for a slot must have the same bytes.
    private var slotsWithDifferentBytes: [String] {
        let bySlot = Dictionary(grouping: publishes) { $0.headers.map(\.value) }
        return bySlot.filter { $0.value.contains { [first = $0.value[0]] in $0 != first } }
            .map { "\($0.key) was published with different bytes" }
    }
}
