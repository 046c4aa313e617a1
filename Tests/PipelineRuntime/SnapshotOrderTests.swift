import EventLog
import Foundation
import PipelineKit
import PipelineRuntime
import Synchronization
import TestSupport
import Testing
import ZeroMQ

/// A snapshot includes the input that its stage set aside: after the loss of power the dead letters must be there too,
/// since nothing before the snapshot is fed again.
@Suite struct SnapshotOrderTests {
    @Test func `no snapshot is on the disk before the dead letters that it knows of`() async throws {
        let folder = try Folder()
        let context = try HostContext()
        let file = try PipelineFile.gateAndRelay(
            in: folder, relay: "{from: gate, stage: fifth}", log: "{sync: always, snapshotBytes: 4KiB}")
        let disk = UnhurriedDisk()
        let relay = try RunningHost("relay", of: file, context, calls: disk.calls)
        let endpoint = file.sourceStage.bind
        try await SocketThread.run(name: "upstream") {
            let upstream = try FakeUpstream(endpoint, context.zmq)
            try upstream.opened()
            try upstream.welcome(after: 0, last: 1)
            try upstream.batch(1, 1, String(repeating: "no JSON ", count: 1_000) + "\n")
            // The dead letter's way to the disk, and the snapshot's.
            try upstream.stay(for: "both to be asked for") { disk.waiting >= 2 }
        }
        disk.goOn()
        try await relay.stop()
        #expect(try relay.deadLetters().count == 1)
        let done = disk.done
        let snapshot = try #require(done.firstIndex { $0.hasSuffix(".snapshot") })
        let written = try #require(done.lastIndex { $0.hasPrefix("write ") && $0.contains(".dead-letters/") })
        #expect(written < snapshot, "\(done)")
        let before = done[written..<max(written, snapshot)]
        #expect(before.contains { !$0.hasPrefix("write ") && $0.contains(".dead-letters/") }, "\(done)")
    }
}

/// What is left to the disk's own time waits until the test says so, and then is done the last first.
private final class UnhurriedDisk: Sendable {
    private struct State {
        var works: [@Sendable () -> Void] = []
        var isHeld = true
        /// Files written to (`write …`), made durable, or given their names.
        var done: [String] = []
    }

    private let state = Mutex(State())

    var waiting: Int { state.withLock { $0.works.count } }
    var done: [String] { state.withLock { $0.done } }

    func goOn() {
        let works = state.withLock { state in
            state.isHeld = false
            return state.works
        }
        for work in works.reversed() { work() }
    }

    var calls: FileCalls {
        var calls = FileCalls()
        calls.makeQueue = { UnhurriedQueue(disk: self) }
        calls.write = { descriptor, parts, count, offset in
            self.note("write " + UnhurriedDisk.path(of: descriptor))
            return pwritev(descriptor, parts, count, offset)
        }
        calls.sync = { descriptor in
            self.note(UnhurriedDisk.path(of: descriptor))
            return 0
        }
        calls.rename = { old, new in
            self.note(String(cString: new))
            return rename(old, new)
        }
        return calls
    }

    fileprivate func take(_ work: @escaping @Sendable () -> Void) {
        let isHeld = state.withLock { state in
            if state.isHeld { state.works.append(work) }
            return state.isHeld
        }
        if !isHeld { work() }
    }

    private func note(_ path: String) { state.withLock { $0.done.append(path) } }

    private static func path(of descriptor: CInt) -> String {
        var path = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/fd/\(descriptor)", &path, path.count)
        return String(decoding: path.prefix(max(count, 0)).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

private struct UnhurriedQueue: SyncQueue {
    let disk: UnhurriedDisk

    func later(after delay: Duration, _ work: @escaping @Sendable () -> Void) { disk.take(work) }
    func now(_ work: () -> Void) { work() }
}
