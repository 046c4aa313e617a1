import BuiltIns
import EventLog
import Foundation
import PipelineKit
import PipelineRuntime
import Replay
import TestSupport
import Testing

/// Tests events and wakes whose outputs fill many batches. Neither the size of the batches nor a crash between them
/// changes an output event.
@Suite(.serialized) struct FanOut {
    private static func file(window: String = "1s") throws -> PipelineFile {
        try PipelineFile.parse(
            """
            pipeline: fanout
            data: /nowhere
            stages:
              ingest: {}
              match: {from: ingest}
              coalesce: {from: match, policy: debounce, window: \(window)}
            """, file: "fanout.yaml", registry: .builtIns)
    }

    private static let place =
        #""container":"iCloud.com.example.Notes","environment":"development","database":"public""#

    private static func subscription(_ number: Int, _ info: String, once: Bool = false) -> String {
        """
        {"type":"subscription.save",\(place),"user":"_u\(number)","subscription":{"subscriptionID":"s",\
        "subscriptionType":"query","query":{"recordType":"Note"},"firesOn":["create","update"],"firesOnce":\(once),\
        "notificationInfo":\(info)}}
        """
    }

    private static func change(_ number: Int, title: String, at second: Int) -> String {
        """
        {"type":"record.save",\(place),"time":"2026-01-31T12:00:\(second < 10 ? "0" : "")\(second)Z","record":\
        {"recordName":"n\(number)","recordType":"Note","fields":{"title":{"value":"\(title)","type":"STRING"}}}}
        """
    }

    /// Commands that save visible and silent subscriptions, with and without a collapse ID, and then records that all
    /// of them watch. Some subscriptions fire only once, at the first record.
    private static func commands(watchers: Int, changes: Int, _ random: inout Seeded) -> [String] {
        let infos = [
            #"{"alertBody":"Changed"}"#, #"{"shouldSendContentAvailable":true}"#,
            #"{"alertBody":"Changed","collapseIDKey":"c","desiredKeys":["title"]}"#,
        ]
        let subscriptions = (0..<watchers).map {
            subscription($0, random.one(of: infos), once: random.isOneIn(4))
        }
        var second = 0
        return subscriptions
            + (0..<changes).map { number in
                second += random.below(3)
                return change(number % 3, title: "T\(number)", at: second)
            }
    }

    /// Counts the batches of a log that end in the middle of the outputs of an event or of a wake, and all batches.
    private static func parts(_ log: String, _ upstream: String) throws -> (ofEvents: Int, ofWakes: Int, all: Int) {
        let reader = try EventLogReader(directory: log, from: .beginning)
        var parts = (ofEvents: 0, ofWakes: 0, all: 0)
        while let header = try reader.nextHeader() {
            parts.all += 1
            switch UnfinishedStep(header.cursor, of: upstream)?.kind {
            case .event: parts.ofEvents += 1
            case .wake: parts.ofWakes += 1
            case nil: break
            }
        }
        return parts
    }

    @Test func `the size of the parts in which outputs are written changes no event`() async throws {
        var random = Seeded(Seeded.ofThisRun)
        let commands = Self.commands(watchers: 40, changes: 12, &random)
        let whole = try VirtualPipeline(Self.file())
        try await whole.run(commands, batchSizes: [], drains: true)
        #expect(try Self.parts(whole.folderOfLogs + "/matches", "changes").ofEvents == 0)
        for partBytes in [1, 900, 4_000] {
            let pipeline = try VirtualPipeline(Self.file(), partBytes: partBytes)
            let (batchSizes, split) = ((0..<commands.count).map { _ in 1 + random.below(20) }, commands.count - 6)
            try await pipeline.run(
                Array(commands[..<split]), batchSizes: batchSizes, stoppingStageAtHalf: 1 + random.below(2),
                drains: false)
            try await pipeline.run(Array(commands[split...]), batchSizes: batchSizes, drains: true)
            for log in ["matches", "notifications"] {
                #expect(try pipeline.events(of: log) == whole.events(of: log), "\(log), parts of \(partBytes)")
                #expect(try EventLogs.verify(directory: pipeline.folderOfLogs + "/" + log).isSound)
            }
            #expect(try Self.parts(pipeline.folderOfLogs + "/matches", "changes").ofEvents > 0)
            #expect(try Self.parts(pipeline.folderOfLogs + "/notifications", "matches").ofWakes > 0)
        }
    }

    @Test(.timeLimit(.minutes(5)), arguments: ["matches", "notifications"])
    func `a crash after any batch loses and repeats no event`(_ log: String) async throws {
        var random = Seeded(Seeded.ofThisRun)
        let commands = Self.commands(watchers: 14, changes: 8, &random)
        let whole = try VirtualPipeline(Self.file(), partBytes: 900)
        try await whole.run(commands, batchSizes: [], drains: true)
        let (events, wakes, all) = try Self.parts(
            whole.folderOfLogs + "/" + log, log == "matches" ? "changes" : "matches")
        #expect((log == "matches" ? events : wakes) > 0, "no event or wake has several parts")
        for batches in 1..<all {
            let logs = try RewrittenLogs(of: whole.folderOfLogs)
            try logs.cut(log, after: batches)
            if log == "matches" { try FileManager.default.removeItem(atPath: logs.path + "/notifications") }
            if log == "notifications" { try await Self.expectNoDifference(logs.path, "cut after batch \(batches)") }
            let pipeline = try VirtualPipeline(
                Self.file(), partBytes: random.one(of: [1, 900, 5_000]), folder: logs.folder)
            try await pipeline.run([], batchSizes: [], drains: true)
            for log in ["matches", "notifications"] {
                #expect(
                    try pipeline.events(of: log) == whole.events(of: log),
                    "\(log), cut after \(batches) of \(all) batches")
            }
            try await Self.expectNoDifference(logs.path, "continued after batch \(batches)")
        }
    }

    @Test func `a wake that began under old settings ends under them`() async throws {
        var random = Seeded(Seeded.ofThisRun)
        let commands = Self.commands(watchers: 14, changes: 8, &random)
        let whole = try VirtualPipeline(Self.file(), partBytes: 900)
        try await whole.run(commands, batchSizes: [], drains: true)
        let reader = try EventLogReader(directory: whole.folderOfLogs + "/notifications", from: .beginning)
        var (batches, middles): (Int, [Int]) = (0, [])
        while let header = try reader.nextHeader() {
            batches += 1
            if UnfinishedStep(header.cursor, of: "matches")?.kind == .wake { middles.append(batches) }
        }
        #expect(!middles.isEmpty, "no wake has several parts")
        for middle in middles {
            let logs = try RewrittenLogs(of: whole.folderOfLogs)
            try logs.cut("notifications", after: middle)
            let after = try Self.file(window: "5s")
            let pipeline = try VirtualPipeline(after, partBytes: 900, folder: logs.folder)
            try await pipeline.run([], batchSizes: [], drains: true)
            let results = try await PipelineReplay(
                RecordedPipeline(after, logs: logs.path), MachineFactory(registry: .builtIns)
            ).run()
            #expect(results.compactMap(\.difference).isEmpty, "cut after batch \(middle)")
            let (written, expected) = (try pipeline.events(of: "notifications"), try whole.events(of: "notifications"))
            #expect(Set(written).count == written.count && written.count > expected.count / 2)
        }
    }

    @Test func `an event that began under new settings ends under them`() async throws {
        func file(_ strict: String) throws -> PipelineFile {
            try PipelineFile.parse(
                """
                pipeline: fanout
                data: /nowhere
                stages:
                  ingest: {}
                  match: {from: ingest, strictRecordType: \(strict)}
                """, file: "fanout.yaml", registry: .builtIns)
        }
        let place = #""container":"iCloud.com.example.Notes","environment":"development","database":"private""#
        let subscriptions = (0..<14).map {
            """
            {"type":"subscription.save",\(place),"user":"_a","subscription":{"subscriptionID":"s\($0)",\
            "subscriptionType":"database","recordType":"Other","notificationInfo":{"alertBody":"Changed"}}}
            """
        }
        let change = """
            {"type":"record.save",\(place),"owner":"_a","time":"2026-01-31T12:00:01Z","record":{"recordName":"n",\
            "recordType":"Note","zoneID":{"zoneName":"Notes","ownerRecordName":"_a"}}}
            """
        let log = LogSettings(sync: .never, snapshotBytes: nil)
        let before = try VirtualPipeline(file("narrow"), log: log, partBytes: 900)
        try await before.run(subscriptions, batchSizes: [], drains: true)
        let whole = try VirtualPipeline(file("ignore"), log: log, partBytes: 900, folder: before.folder)
        try await whole.run([change], batchSizes: [], drains: true)
        let (events, _, all) = try Self.parts(whole.folderOfLogs + "/matches", "changes")
        #expect(events > 0, "no event has several parts")
        for batches in 1..<all {
            let logs = try RewrittenLogs(of: whole.folderOfLogs)
            try logs.cut("matches", after: batches)
            let pipeline = try VirtualPipeline(file("ignore"), log: log, partBytes: 900, folder: logs.folder)
            try await pipeline.run([], batchSizes: [], drains: true)
            #expect(try pipeline.events(of: "matches") == whole.events(of: "matches"), "\(batches)")
        }
    }

    private static func expectNoDifference(_ logs: String, _ what: String) async throws {
        let recorded = try RecordedPipeline(file(), logs: logs)
        let results = try await PipelineReplay(recorded, MachineFactory(registry: .builtIns)).run()
        #expect(results.compactMap(\.difference).isEmpty, "\(what)")
    }

    @Test func `a replay range includes all parts of its events`() async throws {
        var random = Seeded(5)
        let commands = Self.commands(watchers: 14, changes: 8, &random)
        let pipeline = try VirtualPipeline(Self.file(), partBytes: 900)
        try await pipeline.run(commands, batchSizes: [], drains: true)
        let recorded = try RecordedPipeline(Self.file(), logs: pipeline.folderOfLogs)
        let range = ReplayRange(from: .sequence(16), until: .sequence(16))
        let parts = try range.parts(of: recorded)
        let matches = try pipeline.events(of: "matches").enumerated().filter { $1.contains(#""change":16,"#) }
        #expect(matches.count > 5)
        let part = try #require(parts["match"])
        for (index, _) in matches { #expect((part.first...part.last).contains(UInt64(index + 1))) }
        let last = try #require(parts["coalesce"]?.last)
        let reader = try EventLogReader(directory: pipeline.folderOfLogs + "/notifications", from: .sequence(last))
        #expect(try reader.nextHeader().map { UnfinishedStep($0.cursor, of: "matches")?.kind } != .wake)
        let results = try await PipelineReplay(
            recorded, MachineFactory(registry: .builtIns), stages: ["match"], parts: parts
        ).run()
        #expect(results.map(\.verdict) == [.identical])
        #expect(results.allSatisfy { $0.compared.count >= UInt64(matches.count) })
    }

    /// The outputs of one event, and those of one wake, have more bytes than a batch may have.
    @Test(.timeLimit(.minutes(5))) func `outputs larger than the largest batch are written in parts`() async throws {
        let watchers = 9_000
        let info = #"{"alertBody":"Changed","collapseIDKey":"c","desiredKeys":["title"]}"#
        let title = String(repeating: "x", count: 8_000)
        let pipeline = try VirtualPipeline(Self.file(window: "100ms"))
        let commands = (0..<watchers).map { Self.subscription($0, info) } + [Self.change(1, title: title, at: 1)]
        try await pipeline.run(commands, batchSizes: (0..<100).map { _ in 100 }, drains: true)
        for (log, upstream) in [("matches", "changes"), ("notifications", "matches")] {
            let path = pipeline.folderOfLogs + "/" + log
            let summary = try EventLogs.summary(directory: path)
            #expect(summary.lastSequence == UInt64(watchers))
            #expect(summary.bytes > UInt64(EventLogLimits.batchBytesMax))
            let parts = try Self.parts(path, upstream)
            #expect(parts.ofEvents + parts.ofWakes > 200, "\(log): \(parts)")
        }
        try await Self.expectReplay(pipeline.folderOfLogs)
    }

    @Test func `the bytes of pushes that deliver sends at once are bounded, even with many devices`() async throws {
        let file = try PipelineFile.fiveStages(coalesce: "")
        let (devices, changes) = (200, 150)
        let pipeline = try VirtualPipeline(file)
        let registrations = (0..<devices).map {
            """
            {"type":"device.register","container":"iCloud.com.example.Notes","environment":"development","user":"_u1",\
            "device":"d\($0)","transport":"apns","token":"\($0)","topic":"com.example.Notes"}
            """
        }
        let title = String(repeating: "x", count: 900)
        let subscription = Self.subscription(1, #"{"alertBody":"\#(title)"}"#)
        let commands = registrations + [subscription] + (0..<changes).map { Self.change($0, title: "T", at: 1) }
        try await pipeline.run(commands, batchSizes: [], drains: true)
        #expect(pipeline.pushes.count == devices * changes)
        #expect(try pipeline.events(of: "outcomes").count == devices * changes)
        #expect(pipeline.largestDelivery < 1 << 20, "\(pipeline.largestDelivery)")
    }

    private static func expectReplay(_ logs: String) async throws {
        let recorded = try RecordedPipeline(file(window: "100ms"), logs: logs)
        let results = try await PipelineReplay(recorded, MachineFactory(registry: .builtIns)).run()
        #expect(results.map(\.verdict) == [.recalled, .identical, .identical])
    }
}
