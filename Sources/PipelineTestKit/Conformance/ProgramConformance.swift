import Glibc
import PipelineKit
import PipelineRuntime
import ZeroMQ

/// Checks whether a plugin program follows the rules that the host of a `command:` stage relies on.
///
///     let check = try ProgramConformance(
///         ["/usr/bin/python3", "quiet_types.py", "Draft"], directory: "plugins", registry: registry)
///     #expect(try await check.problems() == [])
///
/// The program is started about fifteen times, and fed with sample events from all of Belfry's logs, or with the
/// given events. What the program prints to its standard output goes to standard error.
public struct ProgramConformance: Sendable {
    let command: [String]
    let directory: String?
    let samples: [SampleEvent]
    let limit: Duration

    /// - Parameters:
    ///   - directory: The program's working directory.
    ///   - events: The events to feed, one JSON object each and at least two; nil for samples from all of Belfry's
    ///     logs.
    ///   - limit: The longest time that each step of the program may take: its start, an answer, its end.
    ///   - registry: The stages that make the samples.
    public init(
        _ command: [String], directory: String? = nil, events: [String]? = nil, limit: Duration = .seconds(5),
        registry: Registry
    ) throws {
        precondition(events.map { $0.count >= 2 } ?? true, "ProgramConformance got fewer than two events")
        (self.command, self.directory, self.limit) = (command, directory, limit)
        samples = try events.map(SampleEvents.given) ?? SampleEvents.logged(registry)
    }

    /// The broken rules, each with what the check observed.
    public func problems() async throws -> [String] { try await results().compactMap(\.problem) }

    /// The result for each rule. If the program breaks one of the first two rules, the later rules are skipped.
    public func results() async throws -> [ConformanceResult] {
        try await SocketThread.run(name: "conformance") {
            let program = TestedProgram(self)
            var results: [ConformanceResult] = []
            for rule in ConformanceRule.ofPrograms {
                guard !results.prefix(2).contains(where: { $0.problem != nil }) else {
                    let reason =
                        "not tested, because the program does not open its link or answer batches correctly"
                    results.append(ConformanceResult(rule, .skipped(reason)))
                    continue
                }
                results.append(ConformanceResult(rule) { try program.attempt(rule) })
            }
            return results
        }
    }
}

/// The tested program and its answers in the first run of all samples. Belongs to one thread.
private final class TestedProgram {
    private let conformance: ProgramConformance
    private var samples: [SampleEvent] { conformance.samples }
    /// The answer to each event, in batches of one.
    private var answers: [[String]] = []
    private var outputs: [String] { answers.flatMap { $0 } }
    /// Whether a second process gave the same outputs.
    private var repeatsItself = false

    init(_ conformance: ProgramConformance) { self.conformance = conformance }

    func attempt(_ rule: ConformanceRule) throws {
        switch rule {
        case .opens: try checkOpens()
        case .answers: try checkAnswers()
        case .json: try checkJSON()
        case .repeats: try checkRepeats()
        case .cuts: try checkCuts()
        case .causes: try checkCauses()
        case .unknown: try checkUnknown()
        case .odd: try checkOdd()
        case .restarts: try checkRestarts()
        case .frames: try checkFrames()
        case .gaps: try checkGaps()
        case .ends: try checkEnds()
        default: throw RuleNotTestable("a rule for stages in Swift")
        }
    }

    private func start() throws -> ProgramRig {
        try ProgramRig(
            conformance.command, directory: conformance.directory, now: samples.last?.time ?? .epoch,
            limit: conformance.limit)
    }

    /// Starts the program and answers its `open`.
    private func opened(after: UInt64 = 0) throws -> ProgramRig {
        let rig = try start()
        _ = try rig.open(after: after)
        return rig
    }

    /// Feeds all samples to a new process, in batches of this size.
    private func run(in batch: Int) throws -> [String] {
        let rig = try opened()
        return try stride(from: 0, to: samples.count, by: batch).flatMap { start in
            try rig.outputs(of: samples[start..<min(start + batch, samples.count)], first: UInt64(start) + 1)
        }
    }

    private func compare(_ other: [String], _ names: (String, String)) throws {
        if let found = OutputDifference.text(outputs, other, names) { throw RuleViolation(found) }
    }

    // MARK: The link

    private func checkOpens() throws {
        let rig = try start()
        let open = try rig.open()
        guard open.version == UInt64(LinkFrame.version) else {
            throw RuleViolation("open has no \"protocol\":\(LinkFrame.version): \(open.control.excerpt)")
        }
        guard let name = open.name, !name.isEmpty else {
            throw RuleViolation("open has no \"name\": \(open.control.excerpt)")
        }
    }

    private func checkAnswers() throws {
        let rig = try opened()
        if let early = try rig.next(within: .milliseconds(200)) {
            throw RuleViolation("before the first batch the program sends \(early.control.excerpt)")
        }
        answers = try samples.indices.map { try rig.outputs(of: samples[$0...$0], first: UInt64($0) + 1) }
        if let late = try rig.next(within: .milliseconds(200)) {
            throw RuleViolation("after the last answer the program sends \(late.control.excerpt)")
        }
        try checkSeveralInFlight()
    }

    /// Sends several batches before reading the answers, as a host does.
    private func checkSeveralInFlight() throws {
        let rig = try opened()
        let places = samples.indices.prefix(8)
        for place in places { try rig.sendBatch(samples[place...place], first: UInt64(place) + 1) }
        for place in places { _ = try rig.answer(through: UInt64(place) + 1) }
    }

    private func checkFrames() throws {
        let rig = try opened()
        try rig.send([Array(#"{"type":"conformance.unknown","text":"of a later version"}"#.utf8)])
        try rig.send([Array(#"{"type":"time","after":0,"now":0,"mark":1}"#.utf8)])
        _ = try rig.outputs(of: samples[...0], first: 1)
    }

    /// Leaves out sequence 2, as a host does with an event that it set aside.
    private func checkGaps() throws {
        let rig = try opened()
        _ = try rig.outputs(of: samples[...0], first: 1)
        _ = try rig.outputs(of: samples[1...1], first: 3)
    }

    private func checkEnds() throws {
        let ways: [(String, (ProgramRig) throws -> Void)] = [
            ("`close`", { try $0.send([LinkFrame.close()]) }), ("SIGTERM", { $0.child.signal(SIGTERM) }),
            ("the end of its standard input", { $0.child.endInput() }),
        ]
        for (name, end) in ways {
            let rig = try opened()
            _ = try rig.outputs(of: samples[...0], first: 1)
            try end(rig)
            guard try rig.ends(within: conformance.limit) else {
                throw RuleViolation("the program is still running \(conformance.limit) after \(name)")
            }
        }
        try checkInterrupt()
    }

    /// Ctrl-C in the terminal of `belfry up` sends SIGINT to the program, too. The host still waits for its answers.
    private func checkInterrupt() throws {
        let rig = try opened()
        _ = try rig.outputs(of: samples[...0], first: 1)
        rig.child.signal(SIGINT)
        do { _ = try rig.outputs(of: samples[1...1], first: 2) } catch let violation as RuleViolation {
            throw RuleViolation("after SIGINT \(violation)")
        }
    }

    // MARK: Outputs

    private func checkJSON() throws {
        var check = OutputCheck()
        for line in outputs { try check.check(line) }
    }

    private func checkRepeats() throws {
        try compare(try run(in: 1), ("in one process", "in another"))
        repeatsItself = true
    }

    /// Skips the rule if a second run with the same events failed or had other outputs, because the rule compares runs.
    private func checkThatItRepeats() throws {
        if !repeatsItself { throw RuleNotTestable("a second run with the same events did not give the same output") }
    }

    /// Checks that larger batches of the same events have the same outputs.
    private func checkCuts() throws {
        try checkThatItRepeats()
        for batch in [samples.count, 3] {
            try compare(try run(in: batch), ("in batches of 1", "in batches of \(batch)"))
        }
    }

    private func checkCauses() throws {
        var check = OutputCheck()
        try check.checkCauses(of: samples) { answers[$0] }
    }

    private func checkUnknown() throws {
        var check = OutputCheck()
        let passesOn = zip(samples, answers).contains { sample, answer in
            answer.map { check.canonical($0) }.contains(check.canonical(sample.line))
        }
        let rig = try opened()
        let time = samples.last?.time ?? .epoch
        for (place, line) in SampleEvents.unknown.enumerated() {
            let event = SampleEvent(time: time, line: line)
            let answer = try rig.outputs(of: [event][...], first: UInt64(place) + 1)
            if !passesOn || answer.map({ check.canonical($0) }).contains(check.canonical(line)) { continue }
            throw RuleViolation(
                "unknown event \(place + 1) is not passed on, so later stages never get it: \(line.excerpt)")
        }
    }

    private func checkOdd() throws {
        let rig = try opened()
        var check = OutputCheck()
        let isJSON = check.areJSON(outputs)
        let time = samples.last?.time ?? .epoch
        for (place, odd) in SampleEvents.odd(samples).enumerated() {
            let event = SampleEvent(time: time, line: odd.line)
            do {
                let lines = try rig.outputs(of: [event][...], first: UInt64(place) + 1)
                if isJSON { for output in lines { try check.check(output) } }
            } catch let violation as RuleViolation {
                throw RuleViolation("\(violation); the event is a \(odd.name)")
            }
        }
    }

    // MARK: State

    /// A restarted program gets only the unanswered events. So its output must not depend on earlier events.
    private func checkRestarts() throws {
        try checkThatItRepeats()
        let cut = samples.count / 2
        let first = try opened()
        var other = try outputs(of: 0..<cut, by: first)
        first.child.signal(SIGKILL)
        other += try outputs(of: cut..<samples.count, by: try opened(after: UInt64(cut)))
        try compare(other, ("without a restart", "with a restart after event \(cut)"))
    }

    private func outputs(of places: Range<Int>, by rig: ProgramRig) throws -> [String] {
        try places.flatMap { try rig.outputs(of: samples[$0...$0], first: UInt64($0) + 1) }
    }
}
