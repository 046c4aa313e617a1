import JSON
import PipelineKit
import TestSupport
import Testing

@testable import Coalesce

@Suite struct `Any stream of matches` {
    static let seeds = UInt64(1)...60

    @Test(arguments: seeds)
    func `ends each match in one notification or coalesced event, and lists each change once`(seed: UInt64) throws {
        let stream = Stream(seed: seed)
        var ended: [Int] = []
        var reported: [Int] = []
        for line in try stream.outputs().lines {
            let json = try OutputLine(line)
            ended.append(json.change)
            reported += json.causes
        }
        #expect(ended.sorted() == Array(1...stream.arrivals.count), "seed \(seed)")
        #expect(reported.sorted() == Array(1...stream.arrivals.count), "seed \(seed)")
    }

    @Test(arguments: seeds)
    func `gives notifications of the newest matches, in order and within the policy's longest delay`(
        seed: UInt64
    ) throws {
        let stream = Stream(seed: seed)
        let output = try stream.outputs()
        #expect(output.times == output.times.sorted(), "seed \(seed)")
        for (line, time) in zip(output.lines, output.times) where line.contains(#""type":"notification""#) {
            let json = try OutputLine(line)
            #expect(json.causes == json.causes.sorted() && json.causes.last == json.change, "seed \(seed)")
            let waited = json.causes.map { time - stream.times[$0 - 1] }.max() ?? 0
            #expect(waited <= stream.longestMilliseconds, "seed \(seed), \(line)")
        }
    }

    @Test(arguments: seeds)
    func `gives the same result as a simple model of the rules`(seed: UInt64) throws {
        let stream = Stream(seed: seed)
        let output = try stream.outputs()
        let difference = zip(output.lines, stream.expectedLines).first { $0 != $1 }
        #expect(difference == nil, "seed \(seed), \(stream.settings)")
        #expect(output.lines.count == stream.expectedLines.count, "seed \(seed)")
    }

    @Test(arguments: seeds)
    func `gives the same result whatever the batches are`(seed: UInt64) throws {
        let stream = Stream(seed: seed)
        var random = Seeded(seed)
        let joined = Set(stream.arrivals.indices.filter { _ in Bool.random(using: &random) })
        #expect(try stream.outputs().lines == stream.outputs(joinedWithNext: joined).lines, "seed \(seed)")
    }

    @Test func `together with the other streams covers every policy, replacements and limits`() throws {
        var seen: Set<String> = []
        for seed in Self.seeds {
            let stream = Stream(seed: seed)
            let lines = try stream.outputs().lines
            let policy = stream.settings.policy.kind
            if lines.contains(where: { $0.contains(#""type":"coalesced""#) }) { seen.insert(policy) }
            for word in AtLimit.allCases where lines.contains(where: { $0.contains(#""atLimit":"\#(word.rawValue)""#) })
            {
                seen.insert("\(policy) \(word.rawValue)")
            }
            if policy == "none" { seen.insert(policy) }
        }
        let limited = ["latest", "debounce"].flatMap { policy in AtLimit.allCases.map { "\(policy) \($0.rawValue)" } }
        #expect(seen == Set(["latest", "debounce", "none"] + limited))
    }
}

/// A random stream of matches for two users, and the expected result. Each match is for a change of its own.
private struct Stream {
    var matches: [SampleMatch] = []
    var times: [Int64] = []
    let settings: CoalesceSettings
    private let windowMilliseconds: Int64
    private let maximumMilliseconds: Int64

    init(seed: UInt64) {
        var random = Seeded(seed)
        windowMilliseconds = .random(in: 1...60, using: &random)
        maximumMilliseconds = windowMilliseconds * .random(in: 1...5, using: &random)
        settings = CoalesceSettings(
            policy: PluginChoice(random.one(of: ["latest", "latest", "debounce", "debounce", "none"])),
            window: .milliseconds(windowMilliseconds), maximumDelay: .milliseconds(maximumMilliseconds),
            pendingPerUser: random.one(of: [1, 2, 3, 100]), atLimit: random.one(of: AtLimit.allCases))
        var time: Int64 = 0
        for change in 1...300 {
            time += Int64.random(in: 0...9, using: &random) * Int64.random(in: 0...3, using: &random)
            var match = SampleMatch(change: change, user: "_\(Int.random(in: 0...1, using: &random))")
            match.info = random.one(
                of: [nil, #"{"alertBody":"Hi"}"#] + (0..<3).map { #"{"title":"T","collapseIDKey":"\#($0)"}"# })
            match.device = random.one(of: ["mac", "mac", "mac", "phone", nil])
            matches.append(match)
            times.append(time)
        }
    }

    var arrivals: [Arrival] { zip(times, matches).map { Arrival(time: $0, line: $1.line) } }

    func outputs(joinedWithNext: Set<Int> = []) throws -> StageOutput {
        try CoalesceTests.outputs(of: arrivals, settings, joinedWithNext: joinedWithNext)
    }

    /// The longest time that a change may wait under the policy.
    var longestMilliseconds: Int64 {
        switch settings.policy.kind {
        case "none": 0
        case "latest": windowMilliseconds
        default: maximumMilliseconds
        }
    }

    // MARK: The model

    private struct ModelNotification {
        var key: String
        var user: String
        /// The indices of the matches that the notification stands for.
        var members: [Int]
        var since: Int64
        var due: Int64
        var atLimit: String?
    }

    /// The lines of a simple model. The model searches a list of held notifications at every step.
    var expectedLines: [String] {
        var model = Model(stream: self)
        for index in matches.indices { model.receive(index) }
        model.release(through: .max)
        return model.lines
    }

    private struct Model {
        let stream: Stream
        var held: [ModelNotification] = []
        var lastSent: [String: Int64] = [:]
        var lines: [String] = []

        mutating func release(through time: Int64) {
            while let place = held.indices.filter({ held[$0].due <= time }).min(by: {
                (held[$0].due, held[$0].members[0]) < (held[$1].due, held[$1].members[0])
            }) {
                let due = held.remove(at: place)
                lines.append(stream.notification(of: due.members, due.atLimit))
                lastSent[due.key] = due.due
            }
        }

        mutating func receive(_ index: Int) {
            let (match, now) = (stream.matches[index], stream.times[index])
            release(through: now)
            guard match.info?.contains("alertBody") != true else {
                return lines.append(stream.notification(of: [index]))
            }
            let key = "\(match.user) \(match.info ?? "")"
            let place = held.firstIndex { $0.key == key }
            let limit = (place.map { held[$0].since } ?? now) + stream.maximumMilliseconds
            let due = min(policyDue(place, key, now), limit)
            if let place {
                lines.append(stream.coalesced(held[place].members.last!, by: index))
                held[place].members.append(index)
                held[place].due = due
            } else if due > now, makeRoom(for: match.user, now) {
                held.append(ModelNotification(key: key, user: match.user, members: [index], since: now, due: due))
            } else {
                lines.append(stream.notification(of: [index], due > now ? stream.settings.atLimit.rawValue : nil))
                lastSent[key] = now
            }
        }

        private func policyDue(_ place: Int?, _ key: String, _ now: Int64) -> Int64 {
            let window = stream.windowMilliseconds
            switch stream.settings.policy.kind {
            case "none": return now
            case "debounce": return now + window
            default:
                if let place { return held[place].due }
                return max(now, lastSent[key].map { $0 + window } ?? now)
            }
        }

        /// Applies the limit per user. The notifications that must leave become due now, so they leave before anything
        /// else happens.
        ///
        /// - Returns: Whether the new notification may be held.
        private mutating func makeRoom(for user: String, _ now: Int64) -> Bool {
            let places = held.indices.filter { held[$0].user == user }
            guard places.count >= stream.settings.pendingPerUser else { return true }
            let reason = stream.settings.atLimit
            guard reason != .passNewest else { return false }
            let oldest = places.sorted { held[$0].members[0] < held[$1].members[0] }
            for place in reason == .flushAll ? oldest : [oldest[0]] {
                (held[place].due, held[place].atLimit) = (now, reason.rawValue)
            }
            return true
        }
    }

    private func notification(of members: [Int], _ atLimit: String? = nil) -> String {
        let origins = Set(members.map { matches[$0].device })
        return matches[members.last!].notification(
            causes: members.map { $0 + 1 }, withOrigin: origins.count == 1, atLimit: atLimit)
    }

    private func coalesced(_ old: Int, by new: Int) -> String {
        #"{"type":"coalesced","match":\#(old + 1),"change":\#(old + 1),"replacedBy":\#(new + 1),"#
            + #""replacedByChange":\#(new + 1),"user":"\#(matches[old].user)","subscriptionID":"feed"}"#
    }
}
