import BuiltIns
import Foundation
import PipelineKit
import Replay
import Testing

/// Programs that do a stage's work badly.
@Suite(.timeLimit(.minutes(5)))
struct WorkerTests {
    private static let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Logs/v1/live").path

    /// What a replay of match says of a shell script in its place.
    private func complaint(of script: String) async throws -> String {
        let file = try PipelineFile.load(path: Self.fixture + "/live.yaml", registry: .builtIns)
        var factory = MachineFactory(registry: .builtIns, programs: ["match": ["/bin/sh", "-c", script]])
        factory.patience = .milliseconds(300)
        let recorded = try RecordedPipeline(file, logs: Self.fixture + "/logs")
        let error = await #expect(throws: ReplayError.self) {
            try await PipelineReplay(recorded, factory, stages: ["match"]).run()
        }
        return try #require(error).description
    }

    @Test func oneThatHangsIsKilledAndNamed() async throws {
        let text = try await complaint(of: "read line; exec sleep 1000")
        #expect(text.hasPrefix("match: /bin/sh did not reply within 0.3 seconds, and was killed"))
    }

    @Test func oneThatDiesIsNamedWithItsExitAndWhatItWasAt() async throws {
        let text = try await complaint(of: #"read line; echo '{"type":"ready"}'; read line; exit 3"#)
        #expect(text == "match: /bin/sh ended: it exited with status 3 (it had to receive input from 1 on)")
        #expect(try await complaint(of: "kill -9 $$").contains("it was ended by signal 9"))
    }

    @Test func oneThatSaysNonsenseIsQuoted() async throws {
        let text = try await complaint(
            of: #"read line; echo '{"type":"ready"}'; read line; echo 'Hello, world'; exec sleep 9"#)
        #expect(text.contains(#"this is not a message of the protocol: "Hello, world""#), "\(text)")
        let wrong =
            #"read line; echo '{"type":"ready"}'; read line; echo '{"type":"done","events":7,"marks":[]}'; exec sleep 9"#
        #expect(try await complaint(of: wrong).contains("it says it sent 7 events, but sent 0"))
    }

    @Test func oneThatRefusesIsHeard() async throws {
        let text = try await complaint(of: #"read line; echo '{"type":"error","reason":"not today"}'; exec sleep 9"#)
        #expect(text == "match: not today")
    }
}
