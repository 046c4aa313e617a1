import PipelineKit
import Testing

@testable import Coalesce

/// In these tests, the limit is two pending notifications per user.
@Suite struct PendingLimitTests {
    private let matches = ["a", "b", "c", "d"].enumerated().map { SampleMatch.collapsing($1, change: $0 + 1) }

    private func outputs(_ matches: [SampleMatch], _ atLimit: AtLimit, policy: String = "debounce") throws
        -> StageOutput
    {
        let settings = CoalesceSettings(
            policy: PluginChoice(policy), window: .milliseconds(100), maximumDelay: .seconds(1), pendingPerUser: 2,
            atLimit: atLimit)
        return try CoalesceTests.outputs(
            of: matches.enumerated().map { Arrival(time: Int64($0), line: $1.line) }, settings)
    }

    @Test func `with flush-oldest, the oldest notification leaves at once, and its event has an atLimit`() throws {
        let output = try outputs(matches, .flushOldest)
        #expect(
            output.lines == [
                matches[0].notification(causes: [1], atLimit: "flush-oldest"),
                matches[1].notification(causes: [2], atLimit: "flush-oldest"),
                matches[2].notification(causes: [3]), matches[3].notification(causes: [4]),
            ])
        #expect(output.times == [2, 3, 102, 103])
    }

    @Test func `with flush-all, all pending notifications leave at once, and their events have an atLimit`() throws {
        let output = try outputs(matches, .flushAll)
        #expect(
            output.lines == [
                matches[0].notification(causes: [1], atLimit: "flush-all"),
                matches[1].notification(causes: [2], atLimit: "flush-all"),
                matches[2].notification(causes: [3]), matches[3].notification(causes: [4]),
            ])
        #expect(output.times == [2, 2, 102, 103])
    }

    @Test func `with pass-newest, the newest notification leaves at once, and its event has an atLimit`() throws {
        let output = try outputs(matches, .passNewest)
        #expect(
            output.lines == [
                matches[2].notification(causes: [3], atLimit: "pass-newest"),
                matches[3].notification(causes: [4], atLimit: "pass-newest"),
                matches[0].notification(causes: [1]), matches[1].notification(causes: [2]),
            ])
        #expect(output.times == [2, 3, 100, 101])
    }

    @Test func `at the limit, a newer notification still replaces a pending one`() throws {
        let again = SampleMatch.collapsing("a", change: 3)
        let output = try outputs([matches[0], matches[1], again], .passNewest)
        #expect(!output.lines.contains { $0.contains("atLimit") })
        #expect(output.lines.last == again.notification(causes: [1, 3]))
    }

    @Test(arguments: [\SampleMatch.user, \.container, \.environment])
    func `the limit is separate for each user, container and environment`(
        place: WritableKeyPath<SampleMatch, String> & Sendable
    ) throws {
        var elsewhere = matches
        for index in 2..<4 { elsewhere[index][keyPath: place] = "other" }
        let output = try outputs(elsewhere, .flushOldest)
        #expect(!output.lines.contains { $0.contains("atLimit") })
    }

    @Test func `under the policy latest, a notification that leaves early starts a window`() throws {
        let twice = ["a", "b", "c", "a", "b", "c", "a"].enumerated().map { SampleMatch.collapsing($1, change: $0 + 1) }
        let output = try outputs(twice, .flushOldest, policy: "latest")
        #expect(
            output.lines == [
                twice[0].notification(causes: [1]), twice[1].notification(causes: [2]),
                twice[2].notification(causes: [3]), twice[3].notification(causes: [4], atLimit: "flush-oldest"),
                twice[4].notification(causes: [5], atLimit: "flush-oldest"),
                twice[5].notification(causes: [6]), twice[6].notification(causes: [7]),
            ])
        #expect(output.times == [0, 1, 2, 5, 6, 102, 105])
    }
}
