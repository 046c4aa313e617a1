import JSON
import TestSupport
import Testing

@testable import Coalesce

@Suite struct `Any stream of matches` {
    @Test(arguments: UInt64(1)...40)
    func `ends each in one notification or one coalesced event, with every change told once`(seed: UInt64) throws {
        let stream = Stream(seed: seed)
        let output = try outputs(of: stream.arrivals, window: stream.window, maximumDelay: stream.maximumDelay)
        var ended: [Int] = []
        var told: [Int] = []
        for line in output.lines {
            let json = try Parsed(line)
            ended.append(json.change)
            told += json.causes
        }
        #expect(ended.sorted() == Array(1...stream.arrivals.count), "seed \(seed)")
        #expect(told.sorted() == Array(1...stream.arrivals.count), "seed \(seed)")
        #expect(output.times == output.times.sorted(), "seed \(seed)")
    }

    @Test(arguments: UInt64(1)...40)
    func `gives what a plain model of the rules gives`(seed: UInt64) throws {
        let stream = Stream(seed: seed)
        let output = try outputs(of: stream.arrivals, window: stream.window, maximumDelay: stream.maximumDelay)
        #expect(output.lines == stream.expectedLines, "seed \(seed)")
    }

    @Test(arguments: UInt64(1)...40)
    func `gives the same however it is cut into batches`(seed: UInt64) throws {
        let stream = Stream(seed: seed)
        var random = Seeded(seed)
        let cuts = Set(stream.arrivals.indices.filter { _ in Bool.random(using: &random) })
        let whole = try outputs(of: stream.arrivals, window: stream.window, maximumDelay: stream.maximumDelay)
        let cut = try outputs(
            of: stream.arrivals, window: stream.window, maximumDelay: stream.maximumDelay, cuts: cuts)
        #expect(whole.lines == cut.lines, "seed \(seed)")
    }
}

/// A random stream of matches of a few users, each of its own change, and what becomes of them by the rules.
private struct Stream {
    var matches: [SampleMatch] = []
    var times: [Int64] = []
    let windowMilliseconds: Int64
    let maximumMilliseconds: Int64

    init(seed: UInt64) {
        var random = Seeded(seed)
        windowMilliseconds = .random(in: 1...60, using: &random)
        maximumMilliseconds = windowMilliseconds * .random(in: 1...5, using: &random)
        var time: Int64 = 0
        for change in 1...300 {
            time += Int64.random(in: 0...9, using: &random) * Int64.random(in: 0...3, using: &random)
            var match = SampleMatch(change: change, user: "_\(Int.random(in: 0...3, using: &random))")
            match.info = [nil, #"{"alertBody":"Hi"}"#, #"{"title":"T","collapseIDKey":"c"}"#].randomElement(
                using: &random)!
            match.device = ["mac", "mac", "mac", "phone", nil].randomElement(using: &random)!
            matches.append(match)
            times.append(time)
        }
    }

    var window: Duration { .milliseconds(windowMilliseconds) }
    var maximumDelay: Duration { .milliseconds(maximumMilliseconds) }
    var arrivals: [Arrival] { zip(times, matches).map { Arrival(time: $0, line: $1.line) } }

    private struct Held {
        var key: String
        var members: [Int]
        var since: Int64
        var due: Int64
    }

    /// Keeps what is held in a list and looks through all of it at every step.
    var expectedLines: [String] {
        var (held, lines) = ([Held](), [String]())
        func release(through time: Int64) {
            let due = held.filter { $0.due <= time }.sorted { ($0.due, $0.members[0]) < ($1.due, $1.members[0]) }
            lines += due.map { notification(of: $0.members) }
            held.removeAll { $0.due <= time }
        }
        for (index, match) in matches.enumerated() {
            release(through: times[index])
            guard match.info?.contains("alertBody") != true else {
                lines.append(notification(of: [index]))
                continue
            }
            let (key, due) = ("\(match.user) \(match.info ?? "")", times[index] + windowMilliseconds)
            if let place = held.firstIndex(where: { $0.key == key }) {
                lines.append(coalesced(held[place].members.last!, by: index))
                held[place].members.append(index)
                held[place].due = min(due, held[place].since + maximumMilliseconds)
            } else {
                held.append(Held(key: key, members: [index], since: times[index], due: due))
            }
        }
        release(through: .max)
        return lines
    }

    private func notification(of members: [Int]) -> String {
        let origins = Set(members.map { matches[$0].device })
        return matches[members.last!].notification(causes: members.map { $0 + 1 }, withOrigin: origins.count == 1)
    }

    private func coalesced(_ old: Int, by new: Int) -> String {
        #"{"type":"coalesced","match":\#(old + 1),"change":\#(old + 1),"replacedBy":\#(new + 1),"#
            + #""replacedByChange":\#(new + 1),"user":"\#(matches[old].user)","subscriptionID":"feed"}"#
    }
}
