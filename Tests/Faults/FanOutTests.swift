import EventLog
import Glibc
import PipelineRuntime
import TestSupport
import Testing
import ZeroMQ

/// Kills a stage in the middle of the outputs of an event or of a wake. No push is lost, and no `accepted` outcome is
/// written twice.
@Suite(.serialized) struct FanOutKills {
    private static let watchers = 2_000
    private static let roundsMax = 15

    /// Match needs several batches for the matches of one change, and coalesce for the notifications of one wake.
    @Test(
        .timeLimit(.minutes(5)),
        arguments: Tier.some(of: [
            ("match", "matches", "window: 0s"),
            ("coalesce", "notifications", "window: 30ms, policy: debounce"),
        ]))
    func `a stage that is killed in the middle of the outputs of an event or wake continues there`(
        _ stage: String, _ log: String, _ coalesce: String
    ) async throws {
        let seed = Seeded.ofThisRun
        let (pushes, rounds, repeated, problems) = try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline(coalesce: coalesce)
            var random = Seeded(seed)
            let producer = try pipeline.producer()
            _ = try producer.greet(timeout: .seconds(20))
            try send((0..<Self.watchers).flatMap(Self.watcher), to: producer)
            var (killsInTheMiddle, round, repeated): (Int, Int, [String]) = (0, 0, [])
            while round < Tier.value(2, full: 5) || killsInTheMiddle == 0 {
                round += 1
                guard round <= Self.roundsMax else {
                    throw FaultError(
                        "in \(Self.roundsMax) rounds, no kill of \(stage) came amid the outputs of an event or wake")
                }
                let before = try pipeline.bytes(of: log)
                try send([Self.change(round)], to: producer)
                try pipeline.waitForGrowth(of: log, toBytes: before + 1 + UInt64(random.below(1_000_000)))
                try pipeline.kill(stage)
                if try pipeline.endsInTheMiddle(ofOutputsIn: log) { killsInTheMiddle += 1 }
                try pipeline.waitForRestarts()
                repeated += try pipeline.waitForAcceptedOutcomes(round * Self.watchers)
            }
            pipeline.up.signal(SIGTERM)
            _ = try pipeline.up.waitUntilExit()
            return (try pipeline.pushes(), round, repeated, try pipeline.problemsOfLogs())
        }
        #expect(Set(pushes).count == rounds * Self.watchers)
        #expect(repeated == [])
        #expect(problems == [])
    }

    private static let place = #""container":"iCloud.com.example.Notes","environment":"development""#

    private static func watcher(_ number: Int) -> [String] {
        [
            """
            {"type":"device.register",\(place),"user":"_u\(number)","device":"d","transport":"apns","token":"\(number)",\
            "topic":"com.example.Notes"}
            """,
            """
            {"type":"subscription.save",\(place),"database":"public","user":"_u\(number)","subscription":\
            {"subscriptionID":"s","subscriptionType":"query","query":{"recordType":"Note"},"firesOn":["create","update"],\
            "notificationInfo":{"alertBody":"\(String(repeating: "A note. ", count: 20))","collapseIDKey":"c"}}}
            """,
        ]
    }

    private static func change(_ number: Int) -> String {
        """
        {"type":"record.save",\(place),"database":"public","record":{"recordName":"n","recordType":"Note","fields":\
        {"number":{"value":\(number),"type":"INT64"}}}}
        """
    }
}

private func send(_ commands: [String], to producer: Producer) throws {
    for start in stride(from: 0, to: commands.count, by: 500) {
        let piece = commands[start..<min(start + 500, commands.count)]
        try producer.send(Array((piece.joined(separator: "\n") + "\n").utf8), count: piece.count)
    }
    while !producer.isDone { try producer.pump(wait: .milliseconds(20)) }
}

extension LivePipeline {
    fileprivate func bytes(of log: String) throws -> UInt64 {
        try EventLogs.summary(directory: folder.file("data/logs/" + log)).bytes
    }

    fileprivate func waitForGrowth(of log: String, toBytes bytes: UInt64) throws {
        let end = ContinuousClock.now + .seconds(30)
        while try self.bytes(of: log) < bytes {
            guard .now < end else { throw FaultError("after 30 s, \(log) has fewer than \(bytes) bytes") }
        }
    }

    /// Whether the log ends in the middle of an event's or a wake's outputs. Its cursor then has an entry with a `/` in
    /// its name.
    fileprivate func endsInTheMiddle(ofOutputsIn log: String) throws -> Bool {
        try EventLogs.cursor(directory: folder.file("data/logs/" + log)).positions.keys.contains { $0.contains("/") }
    }
}
