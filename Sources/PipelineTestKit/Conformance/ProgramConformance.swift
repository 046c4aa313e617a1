import Glibc
import PipelineKit
import PipelineRuntime
import ZeroMQ

/// Tries whether a program keeps to what the host of a `command:` stage relies on.
///
///     let check = try ProgramConformance(["/usr/bin/python3", "quiet_types.py", "Draft"], directory: "plugins")
///     #expect(try await check.problems() == [])
///
/// The program is started about ten times, fed events of every type that the logs of a pipeline hold, or those that are
/// given, killed and stopped. What it prints goes to standard error.
public struct ProgramConformance: Sendable {
    let command: [String]
    let directory: String?
    let samples: [SampleEvent]
    let limit: Duration

    /// - Parameters:
    ///   - directory: The folder that it starts in.
    ///   - events: What it is fed, one JSON object each; nil: samples of all that Belfry's logs hold.
    ///   - limit: How long it may take to start, to answer, and to end.
    ///   - registry: Has the stages that make samples.
    public init(
        _ command: [String], directory: String? = nil, events: [String]? = nil, limit: Duration = .seconds(5),
        registry: Registry
    ) throws {
        (self.command, self.directory, self.limit) = (command, directory, limit)
        samples = try events.map(SampleEvents.own) ?? SampleEvents.logged(registry)
    }

    /// What is wrong, each beginning with the rule that is broken; nothing where all is well.
    public func problems() async throws -> [String] { try await results().compactMap(\.problem) }

    /// What became of each rule.
    public func results() async throws -> [ConformanceResult] {
        try await SocketThread.run(name: "conformance") {
            let tried = TriedProgram(self)
            var results: [ConformanceResult] = []
            for rule in ConformanceRule.ofPrograms {
                guard !results.prefix(2).contains(where: { $0.problem != nil }) else {
                    let reason = "not tried, since the program does not answer batches as it must"
                    results.append(ConformanceResult(rule, .skipped(reason)))
                    continue
                }
                results.append(ConformanceResult(rule) { try tried.attempt(rule) })
            }
            return results
        }
    }
}

/// A program, and what it said when it was fed all samples for the first time. Belongs to one thread.
private final class TriedProgram {
    private let conformance: ProgramConformance
    private var samples: [SampleEvent] { conformance.samples }
    /// What each batch of one event was answered with.
    private var answers: [[String]] = []
    private var said: [String] { answers.flatMap { $0 } }
    /// Whether another process said the same.
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
        default: throw NothingToTry("a rule of stages in Swift")
        }
    }

    private func start() throws -> ProgramRig {
        try ProgramRig(
            conformance.command, directory: conformance.directory, now: samples.last?.time ?? .epoch,
            limit: conformance.limit)
    }

    /// Starts the program and takes its `open`.
    private func opened(after: UInt64 = 0) throws -> ProgramRig {
        let rig = try start()
        _ = try rig.open(after: after)
        return rig
    }

    /// All samples, in batches of so many.
    private func run(in batch: Int) throws -> [String] {
        let rig = try opened()
        return try stride(from: 0, to: samples.count, by: batch).flatMap { start in
            try rig.outputs(of: samples[start..<min(start + batch, samples.count)], first: UInt64(start) + 1)
        }
    }

    private func compare(_ other: [String], _ names: (String, String)) throws {
        if let found = OutputDifference.text(said, other, names) { throw Breach(found) }
    }

    // MARK: The link

    private func checkOpens() throws {
        let rig = try start()
        let open = try rig.open()
        guard open.version == UInt64(LinkFrame.version) else {
            throw Breach("open says no \"protocol\":\(LinkFrame.version): \(open.control.excerpt)")
        }
        guard let name = open.name, !name.isEmpty else { throw Breach("open has no \"name\": \(open.control.excerpt)") }
    }

    private func checkAnswers() throws {
        let rig = try opened()
        if let early = try rig.next(within: .milliseconds(200)) {
            throw Breach("before any batch the program says \(early.control.excerpt)")
        }
        answers = try samples.indices.map { try rig.outputs(of: samples[$0...$0], first: UInt64($0) + 1) }
        if let late = try rig.next(within: .milliseconds(200)) {
            throw Breach("behind the last answer the program says \(late.control.excerpt)")
        }
        try checkSeveralInFlight()
    }

    /// A host sends what it has, and waits for no answer.
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
                throw Breach("the program still runs \(conformance.limit) after \(name)")
            }
        }
    }

    // MARK: Outputs

    private func checkJSON() throws {
        var outputs = OutputCheck()
        for line in said { try outputs.check(line) }
    }

    private func checkRepeats() throws {
        try compare(try run(in: 1), ("in one process", "in another"))
        repeatsItself = true
    }

    /// What two courses of the same events show is worth something only where one and the same course repeats itself.
    private func checkThatItRepeats() throws {
        if !repeatsItself { throw NothingToTry("the same events give something else each time") }
    }

    private func checkCuts() throws {
        try checkThatItRepeats()
        for batch in [samples.count, 3] {
            try compare(try run(in: batch), ("in batches of 1", "in batches of \(batch)"))
        }
    }

    private func checkCauses() throws {
        var outputs = OutputCheck()
        var known: Set<UInt64> = []
        for (place, sample) in samples.enumerated() {
            known.formUnion(outputs.causes(of: sample.line))
            known.insert(UInt64(place) + 1)
            for line in answers[place] {
                guard let strange = outputs.causes(of: line).subtracting(known).min() else { continue }
                throw Breach("an output names \(strange), which no input was or named: \(line.excerpt)")
            }
        }
    }

    private func checkUnknown() throws {
        var outputs = OutputCheck()
        let passesOn = zip(samples, answers).contains { sample, answer in
            answer.map { outputs.canonical($0) }.contains(outputs.canonical(sample.line))
        }
        let rig = try opened()
        let time = samples.last?.time ?? .epoch
        for (place, line) in SampleEvents.unknown.enumerated() {
            let event = SampleEvent(time: time, line: line)
            let answer = try rig.outputs(of: [event][...], first: UInt64(place) + 1)
            if !passesOn || answer.map({ outputs.canonical($0) }).contains(outputs.canonical(line)) { continue }
            throw Breach(
                "unknown event \(place + 1) is not passed on, so the stages behind never get it: \(line.excerpt)")
        }
    }

    private func checkOdd() throws {
        let rig = try opened()
        var outputs = OutputCheck()
        let isJSON = outputs.areJSON(said)
        let time = samples.last?.time ?? .epoch
        for (place, odd) in SampleEvents.odd(samples).enumerated() {
            let event = SampleEvent(time: time, line: odd.line)
            do {
                let lines = try rig.outputs(of: [event][...], first: UInt64(place) + 1)
                if isJSON { for output in lines { try outputs.check(output) } }
            } catch let breach as Breach { throw Breach("\(breach); the event is a \(odd.name)") }
        }
    }

    // MARK: State

    /// A program has no snapshots: what it was given before it was killed it never gets again.
    private func checkRestarts() throws {
        try checkThatItRepeats()
        let cut = samples.count / 2
        let first = try opened()
        var other = try outputs(of: 0..<cut, by: first)
        first.child.signal(SIGKILL)
        other += try outputs(of: cut..<samples.count, by: try opened(after: UInt64(cut)))
        try compare(other, ("without a restart", "where the program was killed behind event \(cut)"))
    }

    private func outputs(of places: Range<Int>, by rig: ProgramRig) throws -> [String] {
        try places.flatMap { try rig.outputs(of: samples[$0...$0], first: UInt64($0) + 1) }
    }
}
