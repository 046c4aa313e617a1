import EventLog
import Glibc
import Synchronization
import Time

/// Appends the same lines to a log and to a plain file, then reads both.
///
/// The bench writes a log, then the plain file, then another log, and averages the times of the two logs. So a machine
/// that becomes faster or slower meanwhile favors neither the log nor the plain file.
struct LogBench {
    struct AppendRates: Sendable {
        var policy: SyncPolicy
        /// The number of events in a batch.
        var batchSize: Int
        /// How many events a second were appended to the log.
        var perSecond: Double
        /// How many events a second were written to the plain file.
        var baseline: Double
        /// The number of fdatasync calls for the log that is written after the plain file.
        var syncs: Int
        var ratio: Double { perSecond / baseline }
    }

    /// Rates in bytes of events a second. The headers of the batches are read too, but do not count.
    struct ReadRates: Sendable {
        /// The rate of reading the log.
        var log: Double
        /// The rate of reading the plain file.
        var baseline: Double
        var ratio: Double { log / baseline }
    }

    let events: Int
    let folder: String
    let interruption: Interruption

    static let policies: [SyncPolicy] = [.never, .interval(.milliseconds(50)), .always]
    static let batchSizes = [1, 64, 256]

    func append(_ policy: SyncPolicy, batchSize: Int) throws -> AppendRates {
        try interruption.check()
        let lines = batchOfLines(batchSize)
        let count = max(1, events / batchSize)
        let syncs = SyncCount()
        let before = try secondsToAppend(lines, batchSize: batchSize, times: count, policy, syncs)
        try PlainFile.remove(plainPath)
        let file = try PlainFile.create(plainPath)
        defer { close(file) }
        let plain = try seconds { try writePlainly(lines, count, syncs: syncs.value, to: file) }
        let after = try secondsToAppend(lines, batchSize: batchSize, times: count, policy, syncs)
        let total = Double(count * batchSize)
        return AppendRates(
            policy: policy, batchSize: batchSize, perSecond: 2 * total / (before + after), baseline: total / plain,
            syncs: syncs.value)
    }

    private func secondsToAppend(
        _ lines: [UInt8], batchSize: Int, times count: Int, _ policy: SyncPolicy, _ syncs: SyncCount
    ) throws -> Double {
        try PlainFile.remove(folder + "/log")
        let writer = try log(policy, syncs)
        return try seconds { try append(lines, batchSize: batchSize, times: count, to: writer) }
    }

    /// Reads the log and the plain file that the last ``append(_:batchSize:)`` wrote.
    func read() throws -> ReadRates {
        var bytes = 0
        let log = try seconds { bytes = try readLog() }
        let plain = try seconds { _ = try PlainFile.scan(plainPath) }
        return ReadRates(log: Double(bytes) / log, baseline: Double(bytes) / plain)
    }

    private var plainPath: String { folder + "/plain" }

    private func batchOfLines(_ count: Int) -> [UInt8] {
        var workload = Workload(seed: 1, subscriptions: 10_000)
        return workload.lines(count)
    }

    private func log(_ policy: SyncPolicy, _ syncs: SyncCount) throws -> EventLogWriter {
        var options = EventLogOptions(directory: folder, name: "log", segmentBytesMax: 4 << 30, sync: policy)
        options.calls.sync = {
            syncs.add()
            return fdatasync($0)
        }
        let writer = try EventLogWriter(options)
        syncs.reset()
        return writer
    }

    private func append(_ lines: [UInt8], batchSize: Int, times count: Int, to log: EventLogWriter) throws {
        try lines.withUnsafeBytes { lines in
            for _ in 0..<count { _ = try log.append(lines, count: batchSize, now: max(Instant.wall(), log.lastNow)) }
        }
        try log.close()
    }

    /// Writes the plain file as a C program would. Each batch is one `pwrite` of as many bytes as the log writes. The
    /// program makes as many `fdatasync` calls as the log made, evenly spread, and the last call is at the end.
    private func writePlainly(_ lines: [UInt8], _ count: Int, syncs: Int, to file: Int32) throws {
        let bytes = [UInt8](repeating: 0, count: BatchFormat.headerBytes) + lines
        var (offset, synced) = (0, 0)
        for number in 1...count {
            let written = bytes.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, off_t(offset)) }
            guard written == bytes.count else { throw PlainFile.failure("write", plainPath) }
            offset += written
            guard synced < number * syncs / count else { continue }
            guard fdatasync(file) == 0 else { throw PlainFile.failure("synchronise", plainPath) }
            synced = number * syncs / count
        }
    }

    private func readLog() throws -> Int {
        let reader = try EventLogReader(directory: folder + "/log", from: .beginning)
        var bytes = 0
        while let batch = try reader.next() { bytes += batch.body.count }
        return bytes
    }
}

/// Counts the log's fdatasync calls, which come from several threads.
final class SyncCount: Sendable {
    private let count = Atomic(0)
    var value: Int { count.load(ordering: .relaxed) }
    func add() { count.add(1, ordering: .relaxed) }
    func reset() { count.store(0, ordering: .relaxed) }
}
