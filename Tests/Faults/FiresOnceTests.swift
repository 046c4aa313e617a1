import EventLog
import Glibc
import PipelineRuntime
import TestSupport
import Testing
import ZeroMQ

/// Runs real processes with a subscription that fires once. Match is killed right before or right after the
/// subscription fires.
@Suite(.serialized) struct FiresOnce {
    private static let place = #""container":"iCloud.com.example.Notes","environment":"development""#

    private static let preparation = [
        #"{"type":"device.register",\#(place),"user":"_a","device":"phone","transport":"apns","token":"1","topic":"notes"}"#,
        subscription("once", #""firesOnce":true,"#), subscription("always", ""),
    ]

    private static func subscription(_ id: String, _ members: String) -> String {
        #"{"type":"subscription.save",\#(place),"database":"public","user":"_a","subscription":{"subscriptionID":"\#(id)","#
            + #"\#(members)"subscriptionType":"query","query":{"recordType":"Note"},"firesOn":["create"],"#
            + #""notificationInfo":{"alertBody":"\#(id)"}}}"#
    }

    private static func note(_ name: String) -> String {
        #"{"type":"record.save",\#(place),"database":"public","record":{"recordName":"\#(name)","recordType":"Note"}}"#
    }

    /// - Parameter isKilledAfterMatch: Whether match is killed after it has written the match. If false, match is
    ///   killed before it reads the change.
    @Test(.timeLimit(.minutes(5)), arguments: [false, true])
    func `a subscription fires once, even if match is killed right before or after`(
        isKilledAfterMatch: Bool
    ) async throws {
        let pushes = try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline()
            let producer = try pipeline.producer()
            _ = try producer.greet(timeout: .seconds(20))
            func send(_ commands: [String]) throws {
                try producer.send(Array((commands.joined(separator: "\n") + "\n").utf8), count: commands.count)
                while !producer.isDone { try producer.pump(wait: .milliseconds(100)) }
            }
            try send(Self.preparation + [Self.note("n0")].filter { _ in isKilledAfterMatch })
            if isKilledAfterMatch {
                let end = ContinuousClock.now + .seconds(30)
                while try !pipeline.hasMatched {
                    try #require(.now < end)
                    try producer.pump(wait: .milliseconds(1))
                }
            } else {
                // Match is suspended when the change comes, and is killed without running again.
                kill(try #require(pipeline.pids["match"]), SIGSTOP)
                try send([Self.note("n0")])
            }
            try pipeline.kill("match")
            try pipeline.waitForRestarts()
            try send([Self.note("n1"), Self.note("n2")])
            let repeated = try pipeline.waitForAcceptedOutcomes(4)
            #expect(repeated == [])
            pipeline.up.signal(SIGTERM)
            #expect(try pipeline.up.waitUntilExit() == 0)
            #expect(try pipeline.problemsOfLogs() == [])
            return try pipeline.pushes()
        }
        #expect(pushes.filter { $0.contains(#""alert":"once""#) }.map { $0.contains(#""rid":"n0""#) } == [true])
        #expect(pushes.filter { $0.contains(#""alert":"always""#) }.count == 3)
    }
}

extension LivePipeline {
    /// Whether match has written a match, durable or not.
    fileprivate var hasMatched: Bool {
        get throws {
            let reader = try EventLogReader(directory: data + "/logs/matches", from: .beginning)
            while let batch = try reader.next() {
                if String(decoding: batch.body, as: UTF8.self).contains(#"{"type":"match""#) { return true }
            }
            return false
        }
    }
}
