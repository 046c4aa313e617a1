import Glibc
import Synchronization
import TestSupport
import Testing

@testable import EventLog

/// A writer makes system calls that change the disk. In each run, one of these calls has one kind of fault. The runs
/// cover all calls and all kinds of faults.
@Suite struct FaultTests {
    enum Fault: CaseIterable, Sendable { case io, full, interrupted, short }

    /// A disk with a fault at the call with the number `target`. If this call is a write, the faults `io` and
    /// `interrupted` make it fail, and with `full` and `short` it writes only half of its first part. If this call is
    /// not a write, every fault except `short` makes it fail.
    private final class Disk: Sendable {
        let fault: Fault
        let target: Int
        let calls = Atomic(0)
        let hasFired = Atomic(false)

        init(_ fault: Fault, at target: Int) { (self.fault, self.target) = (fault, target) }

        private func reachesTarget() -> Bool {
            guard calls.add(1, ordering: .relaxed).newValue == target else { return false }
            hasFired.store(true, ordering: .relaxed)
            return true
        }

        private func call(_ body: () -> CInt) -> CInt {
            guard reachesTarget(), fault != .short else { return body() }
            errno = code
            return -1
        }

        private var code: CInt {
            switch fault {
            case .io, .short: EIO
            case .full: ENOSPC
            case .interrupted: EINTR
            }
        }

        private func write(_ file: CInt, _ parts: UnsafePointer<iovec>, _ count: CInt, _ offset: off_t) -> Int {
            guard reachesTarget() else { return pwritev(file, parts, count, offset) }
            if fault == .io || fault == .interrupted {
                errno = code
                return -1
            }
            // While a disk fills up, a call writes a part of its bytes without an error.
            let part = parts[0].iov_len > 0 ? parts[0] : parts[1]
            return pwrite(file, part.iov_base, max(part.iov_len / 2, 1), offset)
        }

        var fileCalls: FileCalls {
            var calls = FileCalls()
            calls.write = { self.write($0, $1, $2, $3) }
            calls.sync = { file in self.call { fdatasync(file) } }
            calls.syncAll = { file in self.call { fsync(file) } }
            calls.truncate = { file, size in self.call { ftruncate(file, size) } }
            calls.open = { path, flags in self.call { open(path, flags, 0o644) } }
            calls.makeFolder = { path in self.call { mkdir(path, 0o755) } }
            calls.rename = { old, new in self.call { rename(old, new) } }
            calls.unlink = { path in self.call { unlink(path) } }
            return calls
        }
    }

    /// The result of a run: the number of events that a flush made durable, and all events that were appended.
    private struct Outcome {
        var acknowledged = 0
        var appended: [String] = []
    }

    /// Appends eight events, and trims the log after the sixth event. If an append fails, tries the same event again,
    /// like a host that waits for disk space. After a failed flush or trim, continues with the next event. Reopens the
    /// log after a failed sync, and after each failure from the 21st attempt on.
    private func run(_ scratch: Scratch, _ disk: Disk) throws -> Outcome {
        var options = scratch.options(segmentBytesMax: 400, sync: .always)
        options.calls = disk.fileCalls
        var (outcome, writer) = (Outcome(), EventLogWriter?.none)
        var attempts = 0
        while outcome.appended.count < 8 {
            attempts += 1
            try #require(attempts < 100, "one fault stopped the log for 100 attempts")
            do throws(EventLogError) {
                let opened = if let writer { writer } else { try EventLogWriter(options) }
                if writer == nil { outcome.appended = try appendedEvents(scratch) }
                writer = opened
                guard outcome.appended.count < 8 else { break }
                let text = event(outcome.appended.count + 1, padding: 90)
                try append(text, to: opened)
                outcome.appended.append(text)
                try opened.flush()
                outcome.acknowledged = outcome.appended.count
                if outcome.appended.count == 6 { try opened.trim(before: 2) }
            } catch {
                #expect(outcome.acknowledged <= outcome.appended.count)
                if case .syncFailed = error { writer = nil }
                if attempts > 20 { writer = nil }
            }
        }
        return outcome
    }

    private func append(_ text: String, to writer: EventLogWriter) throws(EventLogError) {
        var failure: EventLogError?
        Array((text + "\n").utf8).withUnsafeBytes { bytes in
            do throws(EventLogError) {
                _ = try writer.append(bytes, count: 1, cursor: Cursor(["a": 1]), now: writer.lastNow)
            } catch { failure = error }
        }
        if let failure { throw failure }
    }

    /// All events that were ever appended to the log, including events in removed segments.
    private func appendedEvents(_ scratch: Scratch) throws(EventLogError) -> [String] {
        let last = try EventLogs.summary(directory: scratch.log).lastSequence
        return (0..<Int(last)).map { event($0 + 1, padding: 90) }
    }

    @Test(arguments: Fault.allCases)
    func `whichever call fails, no acknowledged event is lost or written twice`(fault: Fault) throws {
        var target = 1
        while true {
            let (scratch, disk) = (Scratch(), Disk(fault, at: target))
            let outcome = try run(scratch, disk)
            #expect(try EventLogs.verify(directory: scratch.log).problems == [], "\(fault) at call \(target)")
            let reopened = try scratch.writer()
            #expect(Int(reopened.lastSequence) >= outcome.acknowledged, "\(fault) at call \(target)")
            let first = try EventLogs.summary(directory: scratch.log).firstSequence
            let events = try EventLogReader.all(scratch.log).flatMap(\.events)
            #expect(events == Array(outcome.appended.dropFirst(Int(first) - 1)), "\(fault) at call \(target)")
            #expect(try EventLogs.verify(directory: scratch.log).isSound, "\(fault) at call \(target)")
            guard disk.hasFired.load(ordering: .relaxed) else { break }
            target += 1
        }
        #expect(target > 30, "the writer made only \(target) calls")
    }
}
