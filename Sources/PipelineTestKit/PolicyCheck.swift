import Coalesce
import Events
import JSON
import PipelineKit
import Time

/// Checks a coalescing policy with random streams of matches.
///
///     let check = try PolicyCheck(
///         QuietHours.self, settings: "{policy: {use: quiet-hours, from: 22h}}", registry: registry)
///     #expect(try check.problems() == [])
///
/// A policy may use only its settings and its arguments. So the same matches must give the same bytes again,
/// also after a restart from a snapshot.
public struct PolicyCheck: Sendable {
    private let settings: CoalesceSettings
    private let registry: Registry
    private static let matchCount = 200

    /// - Parameters:
    ///   - settings: The settings of the coalesce stage, as in a pipeline file. They must select `policy`.
    ///   - registry: The other plugins. If one of them is a policy of the same kind as `policy`, that plugin is checked
    ///     instead of `policy`.
    /// - Throws: ``PipelineKit/PipelineFileError`` or ``PipelineKit/SettingsError`` if the settings are invalid.
    public init<P: CoalescingPolicy>(_ policy: P.Type, settings: String, registry: Registry) throws {
        self.settings = try SettingsReader(text: settings, file: "settings").decode(CoalesceSettings.self)
        var registry = registry
        if registry.policies[P.kind] == nil { registry.register(policy) }
        self.registry = registry
        _ = try stage()
    }

    /// The problems, each with the seed that shows it.
    public func problems(seeds: ClosedRange<UInt64> = 1...20) throws -> [String] {
        try seeds.compactMap { seed in try problem(seed).map { "seed \(seed): \($0)" } }
    }

    private func problem(_ seed: UInt64) throws -> String? {
        let stream = MatchStream(seed: seed, count: PolicyCheck.matchCount)
        let once = try run(stream)
        guard try run(stream) == once else { return "the same matches give other output the second time" }
        for cut in stride(from: 1, to: PolicyCheck.matchCount, by: 13)
        where try run(stream, restoredAfter: cut) != once {
            return "a restart after match \(cut) changes the output: the policy has state that is not in the snapshot"
        }
        return try Self.problem(in: once, of: stream, maximumDelay: settings.maximumDelay)
    }

    private func stage() throws -> CoalesceStage {
        let identity = LogIdentity(seed: "check", name: LogKind.notifications.rawValue)
        return try CoalesceStage(
            settings,
            context: StageContext(
                log: identity, upstream: identity, upstreamName: LogKind.matches.rawValue, registry: registry))
    }

    private func run(_ stream: MatchStream, restoredAfter cut: Int = .max) throws -> [Output] {
        var clock = StageClock(try stage())
        var parser = JSONParser()
        var outputs: [Output] = []
        for (index, match) in stream.matches.enumerated() {
            if index == cut { clock = StageClock(try restored(clock.stage), now: clock.now) }
            wake(&clock, through: match.time, &outputs)
            var out = Outbox()
            try Array(match.line.utf8).withUnsafeBytes { line in
                let event = InputEvent(sequence: UInt64(index + 1), json: try parser.parse(line), line: line)
                clock.receive(event, at: match.time, into: &out)
            }
            outputs.append(Output(time: clock.now, lines: String(decoding: out.lines, as: UTF8.self)))
        }
        wake(&clock, through: .distantFuture, &outputs)
        return outputs
    }

    private func wake(_ clock: inout StageClock<CoalesceStage>, through time: Instant, _ outputs: inout [Output]) {
        while let deadline = clock.stage.deadline, deadline <= time {
            var out = Outbox()
            clock.serveDeadlines(through: deadline, into: &out)
            outputs.append(Output(time: clock.now, lines: String(decoding: out.lines, as: UTF8.self)))
        }
    }

    private func restored(_ old: CoalesceStage) throws -> CoalesceStage {
        var writer = SnapshotWriter()
        var new = try stage()
        old.snapshot(into: &writer)
        var reader = SnapshotReader(writer.bytes)
        try new.restore(from: &reader)
        return new
    }
}

extension PolicyCheck {
    /// The lines that a stage writes at one time.
    private struct Output: Equatable {
        var time: Instant
        var lines: String
    }

    /// Checks that each match led to one notification, in time.
    private static func problem(
        in outputs: [Output], of stream: MatchStream, maximumDelay: Duration
    ) throws -> String? {
        var parser = JSONParser()
        var problem: String?
        var (ended, causes) = ([Int](), [Int]())
        for output in outputs {
            for line in output.lines.split(separator: "\n") {
                try Array(line.utf8).withUnsafeBytes { bytes in
                    let event = try parser.parse(bytes)
                    ended.append(Int(event[.change]?.int64 ?? 0))
                    let own = event[.causes].map { $0.elements.map { Int($0[.sequence]?.int64 ?? 0) } } ?? []
                    for change in own where output.time - stream.matches[change - 1].time > maximumDelay {
                        problem = "the notification for change \(change) is later than the maximum delay allows"
                    }
                    causes += own
                }
            }
        }
        let all = Array(1...stream.matches.count)
        let isComplete = ended.sorted() == all && causes.sorted() == all
        return isComplete ? problem : "a match is lost or has more than one notification"
    }
}

/// Random matches for two users. Each match is for a change of its own. It is silent or has one of three collapse IDs.
private struct MatchStream {
    private(set) var matches: [(time: Instant, line: String)] = []

    init(seed: UInt64, count: Int) {
        // A linear congruential generator, which gives the same streams everywhere.
        var state = seed
        func below(_ limit: UInt64) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % limit)
        }
        var time: Int64 = 1_767_225_600_000_000
        for change in 1...count {
            time += Int64([0, 1_000, 40_000, 400_000, 9_000_000][below(5)])
            matches.append((Instant(microseconds: time), Self.match(change, user: below(2), info: below(4))))
        }
    }

    private static func match(_ change: Int, user: Int, info: Int) -> String {
        let info = info == 0 ? "null" : #"{"alertBody":"Changed","collapseIDKey":"c\#(info)"}"#
        return """
            {"type":"match","change":\(change),"notificationID":"n\(change)","container":"iCloud.com.example.Notes",\
            "environment":"development","database":"private","\(Member.user)":"_u\(user)","\(Member.subscriptionID)":"s",\
            "subscriptionType":"zone","reason":"update","origin":{"\(Member.user)":"_u\(user)","device":"d\(change % 2)"},\
            "notificationInfo":\(info)}
            """
    }
}
