import EventLog
import Glibc
import JSON
import PipelineKit
import PipelineRuntime
import TestSupport
import Testing
import ZeroMQ

/// Which segments retention removes from a log. Each event of the stage `gate` gets a segment of its own, and
/// the stage takes a snapshot after each event.
@Suite struct RetentionTests {
    private static func file(_ folder: Folder, _ retention: String, relay: String = "{from: gate}") throws
        -> PipelineFile
    {
        try .gateAndRelay(
            in: folder, relay: relay,
            log: "{sync: never, segmentBytes: 64KiB, snapshotBytes: 4KiB, retention: \(retention)}")
    }

    @Test func `a limit of age removes old segments, except those that a stage needs to start again`() async throws {
        let folder = try Folder()
        let clock = ControlledTime()
        let file = try Self.file(folder, "{age: 30s}")
        try await RetainedGate.run(file, time: clock.timeOfDay) { gate in
            try gate.open("relay", firstNeeded: 1)
            try gate.send(6)
            clock.advance(by: .seconds(50))
            try gate.send(2)
            #expect(gate.first == 1, "an event that relay needs was removed")
            try gate.reportFirstNeeded(4, by: "relay")
            try gate.send(1)
            try gate.wait(for: "the removal of events 1 to 3 (relay needs event 4)") { gate.first == 4 }
            try gate.reportFirstNeeded(9, by: "relay")
            try gate.send(2)
            try gate.wait(for: "the removal of events 4 to 6 (event 7 is young)") { gate.first == 7 }
        }
        try await RetainedGate.run(file, time: clock.timeOfDay) { gate in
            clock.advance(by: .seconds(50))
            try gate.send(5)
            try gate.wait(for: "the removal of events 7 and 8 (relay is down, but needs event 9)") { gate.first == 9 }
        }
    }

    @Test func `a limit of size removes the oldest segments until the log is small enough`() async throws {
        let folder = try Folder()
        let file = try Self.file(folder, "{bytes: 200KiB}")
        try await RetainedGate.run(file) { gate in
            try gate.open("relay", firstNeeded: 1)
            try gate.send(8)
            #expect(gate.first == 1, "an event that relay needs was removed")
            try gate.reportFirstNeeded(100, by: "relay")
            try gate.open("tap", firstNeeded: 3)
            try gate.send(1)
            try gate.wait(for: "the removal of events 1 and 2 (tap needs event 3)") { gate.first == 3 }
            try gate.close("tap")
            try gate.send(2)
            // Each segment has a little more than 40 KiB: four have less than 200 KiB together, five have more.
            try gate.wait(for: "the removal of all but four segments") { gate.first == 8 }
        }
    }

    @Test func `snapshots that a stage can no longer start from are removed, but never the two newest`() async throws {
        let folder = try Folder()
        let file = try Self.file(folder, "{bytes: 64KiB}")
        let store = try await RetainedGate.run(file) { gate in
            try gate.open("relay", firstNeeded: 1_000)
            try gate.send(12)
            try gate.wait(for: "the removal of the first segments") { gate.first > 8 }
            return gate.snapshots
        }
        let first = try EventLogs.summary(directory: folder.path + "/logs/gate").firstSequence
        let left = try store.list().compactMap { $0.header?.sequence }
        #expect(left.count >= 2 && left.allSatisfy { $0 >= first }, "\(left) of a log that begins with \(first)")
    }

    @Test(arguments: [true, false])
    func `a log keeps the events that a stage with or without snapshots needs to start again`(takesSnapshots: Bool)
        async throws
    {
        let folder = try Folder()
        let file = try Self.file(
            folder, "{bytes: 64KiB}", relay: takesSnapshots ? "{from: gate, stage: fifth}" : "{from: gate}")
        let start = ContinuousClock.now
        let fastTime = HostTime(monotonicNow: { start + (ContinuousClock.now - start) * 20 })
        let context = try HostContext()
        func relay() throws -> RunningHost { try RunningHost("relay", of: file, context, time: fastTime) }
        var stage = try relay()
        try await RetainedGate.run(file, context, time: fastTime) { [stage] gate in
            try gate.send(20)
            try gate.wait(for: "the relay to take 20 events") { stage.host.control.report.taken >= 20 }
            if takesSnapshots {
                try gate.wait(for: "the removal of the first segments") { gate.first > 10 }
            } else {
                try gate.send(1)
                #expect(gate.first == 1)
            }
        }
        try await stage.stop()
        let store = SnapshotStore(logDirectory: stage.logDirectory)
        if takesSnapshots { try store.remove { [newest = try store.list().last] in $0.path == newest?.path } }
        stage = try relay()
        try await RetainedGate.run(file, context) { [stage] gate in
            try gate.send(10)
            let sent: UInt64 = takesSnapshots ? 30 : 31
            try gate.wait(for: "the relay to take all events") { stage.host.control.report.taken >= sent }
        }
        try await stage.stop()
        let last = try EventLogs.summary(directory: stage.logDirectory).lastSequence
        #expect(last == (takesSnapshots ? 6 : 31))
    }

    @Test func `a stage continues while a segment is removed`() async throws {
        let folder = try Folder()
        let removal = FirstCallBlock()
        var calls = FileCalls()
        calls.unlink = { path in
            if String(cString: path).hasSuffix(".log") { removal.blockFirstCall() }
            return unlink(path)
        }
        try await RetainedGate.run(Self.file(folder, "{bytes: 64KiB}"), calls: calls) { gate in
            try gate.open("relay", firstNeeded: 1_000)
            try gate.send(5)
            try gate.wait(for: "the removal") { removal.isBlocking }
            try gate.send(2)
            #expect(removal.isBlocking)
            removal.release()
            // At least the first four segments are removed. One more is removed if the seventh snapshot exists before
            // the host looks for segments to remove.
            try gate.wait(for: "the removal of the first segments") { gate.first >= 5 }
        }
        #expect(try EventLogs.summary(directory: folder.path + "/logs/gate").firstSequence >= 5)
    }

    @Test func `a consumer that asks for removed events gets an error with the last removed sequence`() async throws {
        let folder = try Folder()
        try await RetainedGate.run(Self.file(folder, "{bytes: 64KiB}")) { gate in
            try gate.open("relay", firstNeeded: 1_000)
            try gate.send(12)
            try gate.wait(for: "the removal of all events that the last two snapshots do not need") { gate.first >= 10 }
            let first = gate.first
            let refusal = try gate.open("late", after: first - 2, answer: "error")
            #expect(refusal.contains(#""code":"link.gone""#), "\(refusal)")
            #expect(refusal.contains("events up to \(first - 1) of 'gate' were removed"), "\(refusal)")
            let welcome = try gate.open("late", after: first - 1)
            #expect(welcome.contains(#""first":\#(first)"#), "\(welcome)")
        }
    }
}

/// A gate with a producer, and consumers that report their positions. Belongs to one thread.
private final class RetainedGate {
    private let host: RunningHost
    private let door: Peer
    private let context: HostContext
    private var consumers: [String: Peer] = [:]
    private var sent: UInt64

    private static let line = "{\"n\":1,\"pad\":\"\(String(repeating: "x", count: 40 << 10))\"}\n"

    private init(_ host: RunningHost, _ context: HostContext) throws {
        (self.host, self.context) = (host, context)
        sent = host.host.control.report.last
        door = try Peer.connected(to: host.host.control.report.door ?? "", context.zmq)
    }

    /// Runs a gate while `body` runs.
    @discardableResult
    static func run<Result: Sendable>(
        _ file: PipelineFile, _ context: HostContext? = nil, time: HostTime = HostTime(),
        calls: FileCalls = FileCalls(), _ body: @escaping @Sendable (RetainedGate) throws -> Result
    ) async throws -> Result {
        let context = try context ?? HostContext()
        let host = try RunningHost("gate", of: file, context, time: time, calls: calls)
        do {
            try await host.waitUntilUp()
            let result = try await SocketThread.run(name: "peers") { try body(RetainedGate(host, context)) }
            try await host.stop()
            return result
        } catch {
            host.host.control.stop()
            throw error
        }
    }

    var first: UInt64 { host.host.control.report.first }
    var snapshots: SnapshotStore { SnapshotStore(logDirectory: host.logDirectory) }

    /// Sends events one by one. After each event, waits until the event is in the log, a snapshot includes it, and the
    /// host's turn has ended. In this turn the host may remove old segments.
    func send(_ count: UInt64) throws {
        for _ in 0..<count {
            sent += 1
            try door.send(
                LinkFrame.produce(producer: "p", secret: Peer.secret, first: sent), Array(text: RetainedGate.line))
            _ = try door.receive("answer")
            try wait(for: "a snapshot at event \(sent)") { try snapshots.list().last?.header?.sequence == sent }
            try wait(for: "the end of the turn") { host.host.control.report.last == sent }
        }
    }

    func wait(for what: String, until isMet: () throws -> Bool) throws { try door.wait(for: what, until: isMet) }

    @discardableResult
    func open(_ name: String, after: UInt64 = 0, firstNeeded: UInt64? = nil, answer: String = "welcome")
        throws -> String
    {
        let peer = try Peer.connected(to: host.host.control.report.endpoint, context.zmq)
        consumers[name] = peer
        try peer.send(LinkFrame.open(name: name, after: after, credit: LinkServer.creditMin, keep: firstNeeded))
        return try peer.receive(answer)
    }

    func reportFirstNeeded(_ sequence: UInt64, by name: String) throws {
        try send(LinkFrame.credit(0, keep: sequence), from: name)
    }

    func close(_ name: String) throws { try send(LinkFrame.close(), from: name) }

    /// Sends a message that gets no answer, and waits until the host has handled it.
    private func send(_ frame: [UInt8], from name: String) throws {
        guard let peer = consumers[name] else { throw HostTestError("no consumer \(name)") }
        try peer.send(frame)
        try peer.send(LinkFrame.health())
        _ = try peer.receive("health")
    }
}
