import EventLog
import PipelineKit
import PipelineRuntime
import TestSupport
import Testing
import ZeroMQ

@Suite struct DeadLetterRetentionTests {
    @Test func `dead letters are kept until their own age limit, even if the limits for other events are smaller`()
        async throws
    {
        let folder = try Folder()
        let context = try HostContext()
        let clock = ControlledTime()
        let retention = RetentionSettings(age: .seconds(60), bytes: 1, deadLetters: .seconds(86_400))
        let log = LogSettings(sync: .never, segmentBytes: 1, snapshotBytes: nil, retention: retention)
        let file = try PipelineFile.gateAndRelay(in: folder).inProcess(data: folder.path, seed: "letters", log: log)
        let relay = try RunningHost("relay", of: file, context, time: clock.time)
        let letters = relay.logDirectory + ".dead-letters"
        let endpoint = file.sourceStage.bind
        let firsts = try await SocketThread.run(name: "upstream") {
            let upstream = try FakeUpstream(endpoint, context.zmq)
            try upstream.waitForOpen()
            try upstream.welcome(after: 0, last: 8)
            var firsts: [UInt64] = []
            for (index, jump) in [Duration.zero, .seconds(3_600), .seconds(82_700), .seconds(200)].enumerated() {
                clock.advance(by: jump)
                let frame = LinkFrame.batch(first: UInt64(2 * index + 1), count: 2, now: clock.wall)
                try upstream.send(frame, Array(text: "no JSON\n{\"n\":1}\n"))
                try upstream.wait(untilWritten: UInt64(index + 1), in: relay)
                if index == 3 {
                    try upstream.wait(for: "the first to go") {
                        try EventLogs.summary(directory: letters).firstSequence > 1
                    }
                }
                firsts.append(try EventLogs.summary(directory: letters).firstSequence)
            }
            return firsts
        }
        try await relay.stop()
        #expect(firsts == [1, 1, 1, 2], "the first dead letter must be kept for a day, and then removed")
    }
}
