import PipelineKit
import Testing

@testable import Coalesce

/// A user may have two notifications pending, of two collapse IDs; a third is one too many.
@Suite struct `A user at the limit` {
    private let matches = ["a", "b", "c", "d"].enumerated().map { SampleMatch.collapsing($1, change: $0 + 1) }

    private func outputs(_ matches: [SampleMatch], _ atLimit: AtLimit, policy: String = "debounce") throws
        -> StageOutput
    {
        let settings = CoalesceSettings(
            policy: policy, window: .milliseconds(100), pendingPerUser: 2, atLimit: atLimit)
        return try CoalesceTests.outputs(
            of: matches.enumerated().map { Arrival(time: Int64($0), line: $1.line) }, settings)
    }

    @Test func `lets the oldest go at once, and the event says so`() throws {
        let output = try outputs(matches, .flushOldest)
        #expect(
            output.lines == [
                matches[0].notification(causes: [1], atLimit: "flush-oldest"),
                matches[1].notification(causes: [2], atLimit: "flush-oldest"),
                matches[2].notification(causes: [3]), matches[3].notification(causes: [4]),
            ])
        #expect(output.times == [2, 3, 102, 103])
    }

    @Test func `lets all go at once, and the events say so`() throws {
        let output = try outputs(matches, .flushAll)
        #expect(
            output.lines == [
                matches[0].notification(causes: [1], atLimit: "flush-all"),
                matches[1].notification(causes: [2], atLimit: "flush-all"),
                matches[2].notification(causes: [3]), matches[3].notification(causes: [4]),
            ])
        #expect(output.times == [2, 2, 102, 103])
    }

    @Test func `lets the newest go at once, and the event says so`() throws {
        let output = try outputs(matches, .passNewest)
        #expect(
            output.lines == [
                matches[2].notification(causes: [3], atLimit: "pass-newest"),
                matches[3].notification(causes: [4], atLimit: "pass-newest"),
                matches[0].notification(causes: [1]), matches[1].notification(causes: [2]),
            ])
        #expect(output.times == [2, 3, 100, 101])
    }

    @Test func `still has newer ones replace what is pending`() throws {
        let again = SampleMatch.collapsing("a", change: 3)
        let output = try outputs([matches[0], matches[1], again], .passNewest)
        #expect(!output.lines.contains { $0.contains("atLimit") })
        #expect(output.lines.last == again.notification(causes: [1, 3]))
    }

    @Test(arguments: [\SampleMatch.user, \.container, \.environment])
    func `is one of a container and environment`(place: WritableKeyPath<SampleMatch, String> & Sendable) throws {
        var elsewhere = matches
        for index in 2..<4 { elsewhere[index][keyPath: place] = "other" }
        let output = try outputs(elsewhere, .flushOldest)
        #expect(!output.lines.contains { $0.contains("atLimit") })
    }

    @Test func `has a window after what left early, where the policy is latest`() throws {
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
