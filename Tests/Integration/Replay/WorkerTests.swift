import BuiltIns
import Foundation
import PipelineKit
import Replay
import Testing

/// Tests worker programs that replay a stage and fail.
@Suite(.timeLimit(.minutes(5)))
struct WorkerTests {
    private static let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Logs/v1/live").path

    /// The error of a replay in which a shell script takes the place of match.
    private func error(of script: String) async throws -> String {
        let file = try PipelineFile.load(path: Self.fixture + "/live.yaml", registry: .builtIns)
        var factory = MachineFactory(registry: .builtIns, programs: ["match": ["/bin/sh", "-c", script]])
        factory.replyTimeout = .milliseconds(300)
        let recorded = try RecordedPipeline(file, logs: Self.fixture + "/logs")
        let error = await #expect(throws: ReplayError.self) {
            try await PipelineReplay(recorded, factory, stages: ["match"]).run()
        }
        return try #require(error).description
    }

    @Test func `the error for a worker that hangs says which program hung and was killed`() async throws {
        let text = try await error(of: "read line; exec sleep 1000")
        #expect(text.hasPrefix("match: /bin/sh did not reply within 0.3 seconds, and was killed"))
    }

    @Test func `the error for a dead worker says how it ended, and which events it had to receive`() async throws {
        let text = try await error(of: #"read line; echo '{"type":"ready"}'; read line; exit 3"#)
        #expect(text == "match: /bin/sh exited with status 3 (it had to receive the events from 1 on)")
        #expect(try await error(of: "kill -9 $$").contains("/bin/sh was ended by signal 9"))
    }

    @Test func `the error for an invalid message quotes the message or the wrong count`() async throws {
        let text = try await error(
            of: #"read line; echo '{"type":"ready"}'; read line; echo 'Hello, world'; exec sleep 9"#)
        #expect(text.contains(#"this is not a message of the protocol: "Hello, world""#), "\(text)")
        let wrong =
            #"read line; echo '{"type":"ready"}'; read line; echo '{"type":"done","events":7,"marks":[]}'; exec sleep 9"#
        #expect(try await error(of: wrong).contains("its program says it sent 7 events, but sent 0"))
    }

    @Test func `the reason of a worker's error is shown`() async throws {
        let text = try await error(of: #"read line; echo '{"type":"error","reason":"not today"}'; exec sleep 9"#)
        #expect(text == "match: not today")
    }
}
