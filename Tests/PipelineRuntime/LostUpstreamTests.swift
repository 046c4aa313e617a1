import EventLog
import Foundation
import PipelineKit
import PipelineRuntime
import TestSupport
import Testing
import Time
import ZeroMQ

/// A stage whose upstream no longer has some of its events, or whose own log has lost its end.
@Suite struct LostUpstreamTests {
    @Test func `a stage that needs events which were trimmed by hand ends with an error that says which are gone`()
        async throws
    {
        let folder = try Folder()
        let context = try HostContext()
        let file = try PipelineFile.gateAndRelay(in: folder)
        var gate = try RunningHost("gate", of: file, context)
        try await gate.waitUntilUp()
        try await gate.stop()
        try write(9, to: file)
        gate = try RunningHost("gate", of: file, context)
        let relay = try RunningHost("relay", of: file, context)
        try await relay.waitUntilWritten(9)
        try await relay.stop()
        try await gate.stop()
        let writer = try EventLogWriter(EventLogOptions(directory: folder.file("logs"), name: "gate"))
        let first = try #require(try writer.trim(before: 7).last).lastSequence + 1
        try writer.close()
        #expect(first > 2)
        gate = try RunningHost("gate", of: file, context)
        // The relay takes no snapshots, so it asks for all events.
        let failure = await (try RunningHost("relay", of: file, context)).failure() as? LinkError
        try await gate.stop()
        guard case .refused(_, "link.gone", let reason) = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(reason.contains("events up to \(first - 1) of 'gate' were removed"), "\(reason)")
    }

    /// Appends events, each in a segment of its own.
    private func write(_ count: Int, to file: PipelineFile) throws {
        let options = EventLogOptions(
            directory: file.data + "/logs", name: "gate", identity: nil, segmentBytesMax: 1, sync: .never)
        let writer = try EventLogWriter(options)
        for number in 1...count {
            let line = Array(text: "{\"n\":\(number)}\n")
            _ = try line.withUnsafeBytes { try writer.append($0, count: 1, cursor: Cursor(), now: Instant.wall()) }
        }
        try writer.close()
    }

    /// Events so large that a snapshot is due after each batch.
    private static func events(_ numbers: ClosedRange<Int>) -> String {
        numbers.map { "{\"n\":\($0),\"pad\":\"\(String(repeating: "x", count: 2_000))\"}\n" }.joined()
    }

    private static func file(_ folder: Folder, sync: String = "never") throws -> PipelineFile {
        try .gateAndRelay(in: folder, relay: "{from: gate, stage: fifth}", log: "{sync: \(sync), snapshotBytes: 4KiB}")
    }

    /// Copies the files of a running relay, as a kill after event 9 of its upstream would leave them. The cursor of the
    /// relay's log is at event 5 of the upstream, and the relay has snapshots at events 5 and 9.
    private static func killedRelay(_ context: HostContext, sync: String = "never") async throws
        -> (PipelineFile, SnapshotStore, Folder)
    {
        let (before, after) = (try Folder(), try Folder())
        let file = try file(before, sync: sync)
        let host = try RunningHost("relay", of: file, context)
        let store = SnapshotStore(logDirectory: host.logDirectory)
        try await SocketThread.run(name: "upstream") {
            let upstream = try FakeUpstream(file.sourceStage.bind, context.zmq)
            try upstream.waitForOpen()
            try upstream.welcome(after: 0, last: 9)
            try upstream.sendBatch(first: 1, count: 5, events(1...5))
            try upstream.wait(for: "a snapshot at 5") { try store.positions == [5] }
            try upstream.sendBatch(first: 6, count: 4, events(6...9))
            try upstream.wait(for: "a snapshot at 9") { try store.positions == [5, 9] }
            try FileManager.default.copyItem(atPath: before.file("logs"), toPath: after.file("logs"))
        }
        try await host.stop()
        let left = SnapshotStore(logDirectory: after.file("logs/" + host.host.plan.logName))
        #expect(try left.positions == [5, 9])
        return (try Self.file(after, sync: sync), left, after)
    }

    @Test func `a stage starts from an older snapshot if the newest has events that the upstream has lost`()
        async throws
    {
        let context = try HostContext()
        let (file, store, folder) = try await Self.killedRelay(context)
        let host = try RunningHost("relay", of: file, context)
        let asked = try await SocketThread.run(name: "upstream") {
            let upstream = try FakeUpstream(file.sourceStage.bind, context.zmq)
            let first = try upstream.waitForOpen()
            try upstream.send(LinkFrame.error("link.after", "the log ends at 7"))
            var second = try upstream.waitForOpen()
            while second.contains("\"after\":9") { second = try upstream.waitForOpen() }
            try upstream.welcome(after: 5, last: 7)
            try upstream.sendBatch(first: 6, count: 2, Self.events(6...7))
            try upstream.sendBatch(first: 8, count: 3, Self.events(18...20))
            try upstream.wait(untilWritten: 2, in: host)
            return [first, second]
        }
        try await host.stop()
        #expect(asked[0].contains("\"after\":9"), "\(asked[0])")
        #expect(asked[1].contains("\"after\":5"), "\(asked[1])")
        #expect(try host.events().map { $0.prefix(8) } == ["{\"n\":5,\"", "{\"n\":20,"])
        #expect(
            !(try store.positions.contains(9)), "the snapshot with events that the upstream has lost was not removed")
        withExtendedLifetime(folder) {}
    }

    /// Removes the events of the relay's own log.
    private static func removeSegments(_ folder: Folder) throws {
        let writer = try EventLogWriter(EventLogOptions(directory: folder.file("logs"), name: "relay"))
        for segment in try writer.segments() { try FileManager.default.removeItem(atPath: segment.path) }
        try writer.close()
    }

    @Test(arguments: ["always", "interval 1s"])
    func `a stage whose own log has lost its end does not start until the log is repaired`(sync: String) async throws {
        let context = try HostContext()
        let (file, store, folder) = try await Self.killedRelay(context, sync: sync)
        try Self.removeSegments(folder)
        let host = try RunningHost("relay", of: file, context)
        let failure = await host.failure() as? EventLogError
        guard case .endLost(host.logDirectory, last: 0, let snapshot, sequence: 1) = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(snapshot.hasPrefix(host.logDirectory + "/snapshots/"))
        #expect(try store.positions == [5, 9])
        let copies = try LogRepair(directory: host.logDirectory).apply(at: Instant.wall())
        #expect(copies != nil)
        let repaired = try RunningHost("relay", of: file, context)
        let opened = try await SocketThread.run(name: "upstream") {
            try FakeUpstream(file.sourceStage.bind, context.zmq).waitForOpen()
        }
        #expect(opened.contains("\"after\":0"), "\(opened)")
        try await repaired.stop()
    }

    /// A snapshot ahead of the log would seem to fit once the log has grown again, so it must not stay.
    @Test func `with the sync policy never, snapshots ahead of the stage's own log are removed`() async throws {
        let context = try HostContext()
        let (file, store, folder) = try await Self.killedRelay(context)
        try Self.removeSegments(folder)
        let host = try RunningHost("relay", of: file, context)
        let opened = try await SocketThread.run(name: "upstream") {
            try FakeUpstream(file.sourceStage.bind, context.zmq).waitForOpen()
        }
        #expect(opened.contains("\"after\":0"), "\(opened)")
        #expect(try store.positions == [])
        try await host.stop()
        withExtendedLifetime(folder) {}
    }

    @Test func `a stage whose cursor is past the end of the upstream's log ends with an error that has both positions`()
        async throws
    {
        let context = try HostContext()
        let (file, _, folder) = try await Self.killedRelay(context)
        let host = try RunningHost("relay", of: file, context)
        let log = try host.events()
        try await SocketThread.run(name: "upstream") {
            let upstream = try FakeUpstream(file.sourceStage.bind, context.zmq)
            var opened = try upstream.waitForOpen()
            for after in [9, 5] {
                while !opened.contains("\"after\":\(after)") { opened = try upstream.waitForOpen() }
                try upstream.send(LinkFrame.error("link.after", "the log ends at 4"))
            }
            while !opened.contains("\"after\":0") { opened = try upstream.waitForOpen() }
            try upstream.welcome(after: 0, last: 4)
            try upstream.waitUntilStopped(host)
        }
        let failure = await host.failure() as? LinkError
        #expect(failure == .upstreamLost(endpoint: file.sourceStage.bind, log: "gate", taken: 5, last: 4))
        #expect(try host.events() == log)
        withExtendedLifetime(folder) {}
    }
}

extension SnapshotStore {
    fileprivate var positions: [UInt64] { get throws { try list().compactMap { $0.header?.position } } }
}
