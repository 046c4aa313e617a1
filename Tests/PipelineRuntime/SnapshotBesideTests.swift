import EventLog
import PipelineKit
import PipelineRuntime
import TestSupport
import Testing
import ZeroMQ

/// Tests that a stage makes its snapshots in the background. Meanwhile it takes events, and it can be stopped.
@Suite struct SnapshotBesideTests {
    @Test func `a stage continues, and can stop, while its snapshot is made`() async throws {
        let folder = try Folder()
        let context = try HostContext()
        let file = try PipelineFile.gateAndRelay(
            in: folder, relay: "{from: gate, stage: sluggish}", log: "{sync: never, snapshotBytes: 4KiB}")
        let gate = try RunningHost("gate", of: file, context)
        try await gate.waitUntilUp()
        let relay = try RunningHost("relay", of: file, context)
        let door = gate.host.control.report.door ?? ""
        try await SocketThread.run(name: "producer") {
            let producer = try Peer.connected(to: door, context.zmq)
            try producer.send(1...100)
            try producer.stay(for: "a snapshot to begin") { Sluggish.first.isUnderWay }
            try producer.send(101...300)
            try producer.stay(for: "the relay to go on") { relay.host.control.report.taken == 300 }
        }
        #expect(Sluggish.first.isUnderWay)
        try await relay.stop()
        #expect(Sluggish.first.isUnderWay, "the stop waited for the snapshot")
        let store = SnapshotStore(logDirectory: relay.logDirectory)
        let left = try store.list().compactMap { $0.header?.position }
        #expect(left == [300], "there is another snapshot than the one that the stage made when it stopped")
        Sluggish.first.goOn()
        try await SocketThread.run(name: "waiting") {
            try Peer(context.zmq).stay(for: "the end of the background snapshot") { Sluggish.first.isOver }
        }
        try await gate.stop()
        #expect(
            try store.list().compactMap { $0.header?.position } == left, "the snapshot that was given up was written")
    }

    @Test func `health reports the longest turns by cause`() async throws {
        let folder = try Folder()
        let context = try HostContext()
        let file = try PipelineFile.gateAndRelay(in: folder)
        let gate = try RunningHost("gate", of: file, context)
        try await gate.waitUntilUp()
        let report = gate.host.control.report
        let health = try await SocketThread.run(name: "peers") {
            try Peer.connected(to: report.door ?? "", context.zmq).send(1...100)
            let peer = try Peer.connected(to: report.endpoint, context.zmq)
            try peer.say(LinkFrame.health())
            return try peer.hear("health")
        }
        try await gate.stop()
        #expect(health.contains(##""pauses":[{"cause":"input","microseconds":"##), "\(health)")
    }
}

extension Peer {
    /// Sends events of more than 60 bytes to a door, and waits for the answer.
    fileprivate func send(_ numbers: ClosedRange<UInt64>) throws {
        let lines = numbers.map { "{\"n\":\($0),\"pad\":\"\(String(repeating: "x", count: 60))\"}\n" }.joined()
        try say(LinkFrame.produce(producer: "p", secret: Peer.secret, first: numbers.lowerBound), Array(text: lines))
        _ = try hear("answer")
    }
}
