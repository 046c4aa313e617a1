import Dispatch
import EventLog
import PipelineKit
import TestSupport
import Testing
import Time
import ZeroMQ

@testable import PipelineRuntime

/// Tests that a stage makes its snapshots in the background. Meanwhile the stage takes events, and it can be stopped.
/// Also tests that `health` reports the longest turns of the host's loop.
@Suite struct BackgroundSnapshotTests {
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
            try producer.wait(for: "a snapshot to begin") { Sluggish.firstSnapshot.isBlocking }
            try producer.send(101...300)
            try producer.wait(for: "the relay to take all events") { relay.host.control.report.taken == 300 }
        }
        #expect(Sluggish.firstSnapshot.isBlocking)
        try await relay.stop()
        #expect(Sluggish.firstSnapshot.isBlocking, "the stop waited for the snapshot")
        let store = SnapshotStore(logDirectory: relay.logDirectory)
        let left = try store.list().compactMap { $0.header?.position }
        #expect(left == [300], "expected only the snapshot that the stop made")
        Sluggish.firstSnapshot.release()
        try await SocketThread.run(name: "waiting") {
            try Peer(context.zmq).wait(for: "the end of the background snapshot") {
                Sluggish.firstSnapshot.hasEnded
            }
        }
        try await gate.stop()
        #expect(
            try store.list().compactMap { $0.header?.position } == left,
            "the background snapshot was written after the stop")
    }

    @Test func `a snapshot that is dropped while it is made is never written, and later ones are`() throws {
        let folder = try Folder()
        let file = try PipelineFile.gateAndRelay(in: folder, relay: "{from: gate, stage: fifth}")
        let stage = try #require(file.stage(named: "relay"))
        let surroundings = HostSurroundings(registry: .plain, context: try HostContext())
        let identity = LogIdentity(seed: "test", name: "log")
        let context = StageContext(log: identity, upstream: identity, upstreamName: "gate", registry: .plain)
        let fit = try #require(SnapshotFit(Fifth.self, context, lastSequence: 3))
        let files = SnapshotFiles(
            try StageHost(stage, of: file, in: surroundings).plan, fit, upstreamName: "gate")
        func moment(_ number: UInt64) -> SnapshotMoment { .init(position: number, sequence: number, now: .epoch) }
        let (begun, gate, flushed) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        let (flush, lastFlush) = ({ @Sendable in }, { @Sendable in _ = flushed.signal() })
        files.make(moment(1), after: flush) { check, _ in
            begun.signal()
            gate.wait()
            try check()
            return MadeSnapshot(state: SnapshotWriter(), firstNeeded: nil)
        }
        begun.wait()
        files.stopMaking()
        files.write(moment(2), [0], after: flush)
        gate.signal()
        // The background queue begins this snapshot after the dropped one has ended.
        files.make(moment(3), after: lastFlush) { _, _ in
            MadeSnapshot(state: SnapshotWriter(), firstNeeded: nil)
        }
        flushed.wait()
        files.wait()
        #expect(files.moments.map(\.position) == [2, 3])
    }

    @Test func `health reports the longest turns of the host's loop with their causes`() async throws {
        let folder = try Folder()
        let context = try HostContext()
        let file = try PipelineFile.gateAndRelay(in: folder)
        let gate = try RunningHost("gate", of: file, context)
        try await gate.waitUntilUp()
        let report = gate.host.control.report
        let health = try await SocketThread.run(name: "peers") {
            try Peer.connected(to: report.door ?? "", context.zmq).send(1...100)
            let peer = try Peer.connected(to: report.endpoint, context.zmq)
            try peer.send(LinkFrame.health())
            return try peer.receive("health")
        }
        try await gate.stop()
        #expect(health.contains(##""pauses":[{"cause":"input","microseconds":"##), "\(health)")
    }
}

extension Peer {
    /// Sends events of more than 60 bytes to a door, and waits for the answer.
    fileprivate func send(_ numbers: ClosedRange<UInt64>) throws {
        let lines = numbers.map { "{\"n\":\($0),\"pad\":\"\(String(repeating: "x", count: 60))\"}\n" }.joined()
        try send(LinkFrame.produce(producer: "p", secret: Peer.secret, first: numbers.lowerBound), Array(text: lines))
        _ = try receive("answer")
    }
}
