import Foundation
import LocalAPNs
import PipelineRuntime
import TestSupport
import Testing
import ZeroMQ

/// If the local APNs got a push twice, the outcome of the push contains `"repeat_possible":true`.
@Suite(.serialized) struct Repeats {
    private static let streams = 8

    @Test(arguments: Tier.some(of: ["deliver", "all"]))
    func `the outcome of a push that is sent again after a kill says that the push may have arrived twice`(
        _ victim: String
    ) async throws {
        let apns = try await RunningAPNs(script: #"{"script":[{"do":{"latency":60}}]}"#, streams: Self.streams)
        let (outcomes, possibleRepeats, problems) = try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline(transport: apns.transport())
            try pipeline.send(Notes.commands(40))
            for count in [8, 20, 32] {
                try pipeline.up.wait("\(count) requests") { Set(apns.accepted.map(\.id)).count >= count }
                try pipeline.kill(all: victim == "all")
            }
            try pipeline.waitFor("outcome", count: 40)
            // Nothing is in flight now.
            try pipeline.kill(all: victim == "all")
            try pipeline.send((41...45).map(Notes.note))
            try pipeline.waitFor("outcome", count: 45)
            return (
                try pipeline.outcomes(), try pipeline.possibleRepeats(), try pipeline.stop() + pipeline.problemsOfLogs()
            )
        }
        try await apns.stop()
        #expect(problems == [])
        let repeated = apns.repeated
        print("\(repeated.count) pushes came twice, \(possibleRepeats.count) outcomes contain repeat_possible")
        #expect(!repeated.isEmpty && repeated.isSubset(of: possibleRepeats))
        #expect(possibleRepeats.count <= 3 * Self.streams)
        #expect(outcomes.suffix(5).allSatisfy { !$0.contains("repeat_possible") })
    }

    /// APNs does not answer the push in time. So the log records the push as deferred while it is still in flight. Then
    /// its transport ends: a reload closes it, or deliver is killed.
    @Test(arguments: Tier.some(of: [true, false]))
    func `the outcome of a deferred push whose transport ended says that the push may have arrived twice`(
        isReload: Bool
    ) async throws {
        let apns = try await RunningAPNs(
            script: #"{"script":[{"when":{"nth":2},"do":{"latency":20000}},{"do":{"latency":5}}]}"#)
        let (outcomes, possibleRepeats, problems) = try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline(transport: apns.transport())
            try pipeline.send(Notes.commands(1))
            try pipeline.waitFor("outcome")
            try pipeline.send((2...4).map(Notes.note))
            try pipeline.waitFor("attempt")
            try pipeline.waitFor("outcome", count: 3)
            if isReload {
                try pipeline.edit(transport: apns.transport(), sync: "interval 40ms")
                pipeline.up.signal(SIGHUP)
                try pipeline.waitForLine("deliver: reloaded \(pipeline.file): apns reopened")
            } else {
                try pipeline.kill("deliver")
            }
            try pipeline.waitFor("outcome", count: 4)
            return (
                try pipeline.outcomes(), try pipeline.possibleRepeats(), try pipeline.stop() + pipeline.problemsOfLogs()
            )
        }
        try await apns.stop()
        #expect(problems == [])
        let late = outcomes.first { $0.hasPrefix(#"{"type":"attempt""#) }?.apnsID
        #expect(possibleRepeats == [try #require(late)], "\(outcomes)")
    }
}

extension Repeats {
    /// A newer push replaces a push that waits, but not a push that is in flight at APNs. Deliver asks the transport
    /// about the push in flight. If deliver is killed, no transport can answer; then the push ends as `superseded` and
    /// is not sent again.
    @Test(arguments: Tier.some(of: [false, true]))
    func `a push in flight is queried when a newer push comes`(isKilled: Bool) async throws {
        let apns = try await RunningAPNs(script: #"{"script":[{"when":{"nth":2},"do":{"latency":6500}}]}"#)
        let (outcomes, problems) = try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline(transport: apns.transport())
            try pipeline.send(Notes.commands(1, collapseID: "notes"))
            try pipeline.waitFor("outcome")
            try pipeline.send([Notes.note(2)])
            try pipeline.waitFor("attempt")
            try pipeline.send([Notes.note(3)])
            try pipeline.waitFor("attempt", count: 2)
            if isKilled { try pipeline.kill("deliver") }
            try pipeline.waitFor("outcome", count: 3)
            return (try pipeline.outcomes(), try pipeline.stop() + pipeline.problemsOfLogs())
        }
        try await apns.stop()
        #expect(problems == [])
        #expect(apns.repeated.isEmpty)
        let ends = outcomes.filter { $0.hasPrefix(#"{"type":"outcome""#) }
        if isKilled {
            let end = #""outcome":"superseded","answer":"deferred","by":4,"reason":"its answer was lost","attempts":1"#
            #expect(ends.contains { $0.contains(end) }, "\(ends)")
        } else {
            #expect(ends.allSatisfy { $0.contains(#""outcome":"accepted""#) }, "\(ends)")
        }
    }
}

extension RunningAPNs {
    /// The pushes that the server got twice.
    fileprivate var repeated: Set<String> { Set(accepted.filter(\.isRepeat).map(\.id)) }
}

extension LivePipeline {
    /// - Parameter all: Whether all processes are killed, or only deliver.
    fileprivate func kill(all: Bool) throws {
        guard all else { return try kill("deliver") }
        for stage in LivePipeline.stages { try kill(stage) }
        up.signal(SIGKILL)
        _ = try up.waitUntilExit(within: .seconds(30))
        try startAgain()
    }

    /// Writes the pipeline file again with another sync policy.
    fileprivate func edit(transport: String, sync: String) throws {
        let text = LivePipeline.yaml(transport: transport)
        try folder.write(text.replacing("interval 50ms", with: sync), to: "pipeline.yaml")
    }
}
