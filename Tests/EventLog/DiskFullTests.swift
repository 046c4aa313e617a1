import Foundation
import Glibc
import Synchronization
import Testing

@testable import EventLog

@Suite struct DiskFullTests {
    /// Stops the writes of an append after 4 to 160 bytes, with each error. The log must stay unchanged and usable.
    @Test(arguments: [ENOSPC, EDQUOT, EFBIG, EIO])
    func `an append that fails after a part of its bytes appends nothing`(code: CInt) throws {
        let scratch = Scratch()
        let room = Mutex(Int.max)
        var options = scratch.options(segmentBytesMax: 2000)
        options.calls.write = { descriptor, parts, count, offset in
            shortWrite(descriptor, parts, count, offset, room: room, code: code)
        }
        let writer = try EventLogWriter(options)
        for number in 1...40 {
            room.withLock { $0 = number * 4 }
            let error = #expect(throws: EventLogError.self) { try writer.append([event(number, padding: 100)]) }
            #expect(try EventLogs.summary(directory: scratch.log).hasTornTail == false)
            if case .full = error { #expect(code != EIO) } else { #expect(code == EIO) }
            room.withLock { $0 = .max }
            #expect(try writer.append([event(number, padding: 100)]) == UInt64(number))
        }
        #expect(try EventLogReader.all(scratch.log).flatMap(\.events) == (1...40).map { event($0, padding: 100) })
        #expect(try EventLogs.verify(directory: scratch.log).isSound)
    }

    @Test func `a writer that cannot remove a partial batch rejects further batches`() throws {
        let scratch = Scratch()
        let room = Mutex(Int.max)
        var options = scratch.options()
        options.calls.write = { shortWrite($0, $1, $2, $3, room: room, code: ENOSPC) }
        options.calls.truncate = { _, _ in
            errno = EIO
            return -1
        }
        let writer = try EventLogWriter(options)
        try writer.append([event(1)])
        room.withLock { $0 = 10 }
        #expect(throws: EventLogError.self) { try writer.append([event(2)]) }
        room.withLock { $0 = .max }
        #expect(throws: EventLogError.self) { try writer.append([event(2)]) }
        try writer.close()
        let reopened = try scratch.writer()
        #expect(reopened.lastSequence == 1 && reopened.recovery?.bytesCut == 10)
    }

    @Test func `a log can be used again after its file system was full`() throws {
        let scratch = Scratch()
        try FileManager.default.createDirectory(atPath: scratch.path, withIntermediateDirectories: true)
        guard mount("tmpfs", scratch.path, "tmpfs", 0, "size=256k") == 0 else { try Test.cancel("cannot mount tmpfs") }
        defer { umount2(scratch.path, CInt(MNT_DETACH)) }
        try appendUntilFullThenContinue(scratch, sync: .always)
    }

    private func appendUntilFullThenContinue(_ scratch: Scratch, sync: SyncPolicy) throws {
        let filler = scratch.path + "/filler"
        try write([UInt8](repeating: 0, count: 64 << 10), to: filler)
        let writer = try scratch.writer(segmentBytesMax: 40_000, sync: sync)
        var error: (any Error)?
        var number: UInt64 = 0
        while error == nil {
            do {
                number = try writer.append([event(Int(number), padding: 3000)])
            } catch let caught { error = caught }
        }
        guard case .full(_, _, ENOSPC) = error as? EventLogError else { throw error ?? EventLogError.invalidName("") }
        try #require(unlinkSucceeds(filler))
        #expect(try writer.append([event(Int(number), padding: 3000)]) == number + 1)
        try writer.close()
        #expect(try EventLogs.verify(directory: scratch.log).isSound)
        #expect(try scratch.writer(sync: sync).lastSequence == number + 1)
    }
}

/// Writes at most `room` bytes of the first part that is not empty, like a file system that fills up during a call.
/// Without room, fails with `code`.
private func shortWrite(
    _ descriptor: CInt, _ parts: UnsafePointer<iovec>, _ count: CInt, _ offset: off_t, room: borrowing Mutex<Int>,
    code: CInt
) -> Int {
    room.withLock { room in
        guard room > 0 else {
            errno = code
            return -1
        }
        for index in 0..<Int(count) where parts[index].iov_len > 0 {
            let written = pwrite(descriptor, parts[index].iov_base, min(parts[index].iov_len, room), offset)
            room -= written
            return written
        }
        return 0
    }
}
