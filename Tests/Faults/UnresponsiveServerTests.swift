import TestSupport
import Testing
import ZeroMQ

/// Tests a pipeline with two transports, one of which has an unresponsive server.
@Suite(.serialized) struct UnresponsiveServers {
    private static let scripts = [
        #"{"streams":0}"#, #"{"script":[{"do":{"silence":true}}]}"#,
        #"{"script":[{"do":{"goaway":{"lastStream":"before"}}}]}"#,
    ]

    /// Each note makes a push for both servers. The test sends a note when the responsive server has accepted the push
    /// of the note before. If deliver waited for the unresponsive server each time, the test would exceed its time
    /// limit.
    @Test(.full, .timeLimit(.minutes(5)), arguments: scripts)
    func `an unresponsive server does not stall another transport`(_ script: String) async throws {
        let (apns, unresponsive) = (try await RunningAPNs(), try await RunningAPNs(script: script))
        let problems = try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline(transport: apns.transport() + "\n      second: " + unresponsive.transport())
            try pipeline.send([Notes.device("tablet", "01ff", transport: "second")] + Notes.commands(1))
            for number in 2...41 {
                try pipeline.up.wait("\(number - 1) requests") { apns.accepted.count >= number - 1 }
                try pipeline.send([Notes.note(number)], from: "note-\(number)")
            }
            try pipeline.up.wait("all requests") { apns.accepted.count == 41 }
            return try pipeline.stop() + pipeline.problemsOfLogs()
        }
        try await apns.stop()
        try await unresponsive.stop()
        #expect(problems == [] && unresponsive.accepted.isEmpty)
    }
}
