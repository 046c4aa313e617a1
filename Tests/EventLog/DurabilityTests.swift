import Dispatch
import Glibc
import Synchronization
import Testing

@testable import EventLog

/// A disk whose `fdatasync` waits until the test opens the gate for it, and then succeeds or fails.
private final class SlowDisk: Sendable {
    let began = DispatchSemaphore(value: 0)
    let gate = DispatchSemaphore(value: 0)
    let syncCount = Mutex(0)
    let isFailing = Mutex(false)

    func sync() -> CInt {
        syncCount.withLock { $0 += 1 }
        began.signal()
        let isOpen = gate.wait(timeout: .now() + .seconds(20)) == .success
        guard !isOpen || isFailing.withLock({ $0 }) else { return 0 }
        errno = isOpen ? EIO : ETIMEDOUT
        return -1
    }

    /// Opens a log. The one sync of the opening does not wait for the test.
    func writer(_ scratch: Scratch, _ policy: SyncPolicy) throws -> EventLogWriter {
        var options = scratch.options(sync: policy)
        options.calls.sync = { _ in self.sync() }
        gate.signal()
        let writer = try EventLogWriter(options)
        try began.await()
        syncCount.withLock { $0 = 0 }
        return writer
    }
}

@Suite struct DurabilityTests {
    @Test(.timeLimit(.minutes(5)))
    func `with the policy always, one sync makes all waiting batches durable`() throws {
        let (scratch, disk) = (Scratch(), SlowDisk())
        let writer = try disk.writer(scratch, .always)
        let (notified, calls) = (DispatchSemaphore(value: 0), SequenceRecorder())
        writer.onDurable { sequence in
            calls.add(sequence)
            notified.signal()
        }
        try writer.append([event(1)])
        try disk.began.await()
        for number in 2...50 { try writer.append([event(number)]) }
        #expect(writer.durableSequence == 0 && writer.lastSequence == 50)
        disk.gate.signal()
        try notified.await()
        #expect(calls.all == [1] && writer.durableSequence == 1)
        disk.gate.signal()
        try notified.await()
        #expect(calls.all == [1, 50] && writer.durableSequence == 50)
        #expect(disk.syncCount.withLock { $0 } == 2)
        try writer.close()
        #expect(disk.syncCount.withLock { $0 } == 2, "closing synced again, although all batches were durable")
    }

    @Test(.timeLimit(.minutes(5)))
    func `no batch becomes durable after a failed sync`() throws {
        let (scratch, disk) = (Scratch(), SlowDisk())
        let writer = try disk.writer(scratch, .always)
        disk.isFailing.withLock { $0 = true }
        disk.gate.signal()
        try writer.append([event(1)])
        let expected = EventLogError.syncFailed(file: try scratch.segments[0], errno: EIO)
        #expect(throws: expected) { try writer.flush() }
        disk.isFailing.withLock { $0 = false }
        #expect(throws: expected) { try writer.append([event(2)]) }
        #expect(throws: expected) { try writer.close() }
        #expect(writer.durableSequence == 0)
        #expect(disk.syncCount.withLock { $0 } == 1)
    }

    @Test(.timeLimit(.minutes(5)), arguments: [SyncPolicy.always, .interval(.milliseconds(1))])
    func `a failed sync is reported without another append`(policy: SyncPolicy) throws {
        let (scratch, disk, notified) = (Scratch(), SlowDisk(), DispatchSemaphore(value: 0))
        let writer = try disk.writer(scratch, policy)
        writer.onDurable { _ in notified.signal() }
        disk.isFailing.withLock { $0 = true }
        disk.gate.signal()
        try writer.append([event(1)])
        try notified.await()
        #expect(throws: EventLogError.syncFailed(file: try scratch.segments[0], errno: EIO)) { try writer.check() }
        #expect(writer.durableSequence == 0)
    }

    @Test(.timeLimit(.minutes(5)), arguments: [SyncPolicy.interval(.seconds(3600)), .never])
    func `with the policies interval and never, written batches count as durable`(policy: SyncPolicy) throws {
        let (scratch, disk) = (Scratch(), SlowDisk())
        for _ in 0..<4 { disk.gate.signal() }
        var options = scratch.options(sync: policy)
        options.calls.sync = { _ in disk.sync() }
        let writer = try EventLogWriter(options)
        disk.syncCount.withLock { $0 = 0 }
        try writer.append([event(1)])
        #expect(writer.durableSequence == 1)
        #expect(disk.syncCount.withLock { $0 } == 0)
        try writer.flush()
        #expect(disk.syncCount.withLock { $0 } == 1, "the flush did not sync")
        try writer.append([event(2)])
        try writer.close()
        #expect(disk.syncCount.withLock { $0 } == (policy == .never ? 1 : 2))
    }

    @Test(.timeLimit(.minutes(5)))
    func `with the policy interval, the log syncs on its own`() throws {
        let (scratch, disk) = (Scratch(), SlowDisk())
        let writer = try disk.writer(scratch, .interval(.milliseconds(1)))
        for number in 1...3 {
            try writer.append([event(number)])
            try disk.began.await()
            disk.gate.signal()
        }
        for _ in 0..<5 { disk.gate.signal() }
        try writer.close()
    }

    @Test(.timeLimit(.minutes(5))) func `with the policy never, a finished segment is synced in the background`() throws
    {
        let scratch = Scratch()
        let synced = DispatchSemaphore(value: 0)
        var options = scratch.options(segmentBytesMax: 300, sync: .never)
        let writer = try EventLogWriter(options)
        try writer.append([event(1, padding: 250)])
        try writer.close()
        let finished = try scratch.segments[0]
        options.calls.sync = { descriptor in
            var (synchronized, expected) = (stat(), stat())
            fstat(descriptor, &synchronized)
            stat(finished, &expected)
            if synchronized.st_ino == expected.st_ino { synced.signal() }
            return fdatasync(descriptor)
        }
        let again = try EventLogWriter(options)
        while synced.wait(timeout: .now()) == .success {}
        try again.append([event(2, padding: 250)])
        #expect(try scratch.segments.count == 2)
        try synced.await()
        try again.close()
    }

    @Test func `with the policy always, the events of all segments become durable in order`() throws {
        let scratch = Scratch()
        let writer = try scratch.writer(segmentBytesMax: 300, sync: .always)
        let calls = SequenceRecorder()
        writer.onDurable { calls.add($0) }
        for number in 1...30 { try writer.append([event(number, padding: 60)], cursor: Cursor(["a": UInt64(number)])) }
        try writer.flush()
        #expect(calls.all.last == 30 && calls.all == calls.all.sorted())
        #expect(try EventLogReader.all(scratch.log).count == 30)
    }
}

extension DispatchSemaphore {
    /// Waits with a time limit, so that a failing test ends, too.
    fileprivate func await() throws {
        try #require(wait(timeout: .now() + .seconds(20)) == .success)
    }
}

/// Collects the values of a callback.
private final class SequenceRecorder: Sendable {
    private let entries = Mutex<[UInt64]>([])
    var all: [UInt64] { entries.withLock { $0 } }
    func add(_ sequence: UInt64) { entries.withLock { $0.append(sequence) } }
}
