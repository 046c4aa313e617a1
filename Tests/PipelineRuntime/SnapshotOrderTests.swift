import Foundation
import PipelineKit
import PipelineRuntime
import Synchronization
import TestSupport
import Testing
import ZeroMQ

/// A snapshot also covers rejected input. After a loss of power the dead letters must be there too, because input from
/// before the snapshot is not read again.
@Suite struct SnapshotOrderTests {
    @Test func `a snapshot is on the disk only after the dead letters that it covers`() async throws {
        let folder = try Folder()
        let context = try HostContext()
        let file = try PipelineFile.gateAndRelay(
            in: folder, relay: "{from: gate, stage: fifth}", log: "{sync: always, snapshotBytes: 4KiB}")
        let disk = DelayingDisk()
        let relay = try RunningHost("relay", of: file, context, calls: disk.calls)
        let endpoint = file.sourceStage.bind
        try await SocketThread.run(name: "upstream") {
            let upstream = try FakeUpstream(endpoint, context.zmq)
            try upstream.waitForOpen()
            try upstream.welcome(after: 0, last: 1)
            try upstream.sendBatch(first: 1, count: 1, String(repeating: "no JSON ", count: 1_000) + "\n")
            // One piece of delayed work for the dead letter, and one for the snapshot.
            try upstream.wait(for: "the work for both to be delayed") { disk.delayedCount >= 2 }
        }
        disk.runDelayedWork()
        try await relay.stop()
        #expect(try relay.deadLetters().count == 1)
        let done = disk.doneCalls
        let snapshot = try #require(done.firstIndex { $0.hasSuffix(".snapshot") })
        let written = try #require(done.lastIndex { $0.hasPrefix("write ") && $0.contains(".dead-letters/") })
        #expect(written < snapshot, "\(done)")
        let before = done[written..<max(written, snapshot)]
        #expect(before.contains { !$0.hasPrefix("write ") && $0.contains(".dead-letters/") }, "\(done)")
    }
}
