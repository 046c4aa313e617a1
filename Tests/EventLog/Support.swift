import EventLog
import Foundation
import Time

/// A folder for one test. It is removed with this object.
final class Scratch {
    let path: String

    init() {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("eventlog-\(UUID().uuidString)").path
    }

    deinit {
        do { try FileManager.default.removeItem(atPath: path) } catch { print("left behind: \(path)") }
    }

    /// The log's own folder.
    var log: String { path + "/matches" }

    func options(segmentBytesMax: Int = 128 << 20, sync: SyncPolicy = .never) -> EventLogOptions {
        EventLogOptions(
            directory: path, name: "matches", identity: LogIdentity(seed: "test", name: "matches"),
            segmentBytesMax: segmentBytesMax, sync: sync)
    }

    func writer(segmentBytesMax: Int = 128 << 20, sync: SyncPolicy = .never) throws -> EventLogWriter {
        try EventLogWriter(options(segmentBytesMax: segmentBytesMax, sync: sync))
    }

    /// The facts about each segment of the log. A test must close its own writer first, because this method opens the
    /// log for writing.
    func facts() throws -> [SegmentFacts] {
        let writer = try writer()
        defer { withExtendedLifetime(writer) {} }
        return try writer.segments()
    }

    func trim(before sequence: UInt64) throws {
        let writer = try writer()
        try writer.trim(before: sequence)
        try writer.close()
    }

    var segments: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: log).filter { $0.hasSuffix(".log") }.sorted()
                .map { log + "/" + $0 }
        }
    }
}

/// A copy of a batch, for comparisons. It stays valid after the reader's next call.
struct ModelBatch: Hashable {
    var first: UInt64
    var events: [String]
    var cursor: Cursor
    var now: Instant
}

extension EventLogWriter {
    @discardableResult
    func append(_ events: [String], cursor: Cursor = Cursor(), now: Int64? = nil) throws -> UInt64 {
        let body = events.map { $0 + "\n" }.joined()
        let time = now.map(Instant.init(microseconds:)) ?? lastNow
        return try Array(body.utf8).withUnsafeBytes {
            try append($0, count: events.count, cursor: cursor, now: time)
        }
    }
}

extension EventLogReader.Batch {
    var events: [String] { body.lines }
    var model: ModelBatch {
        ModelBatch(first: header.firstSequence, events: events, cursor: header.cursor, now: header.now)
    }
}

extension UnsafeRawBufferPointer {
    var lines: [String] { split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) } }
}

extension EventLogReader {
    /// Reads all batches up to the end of the log.
    func rest() throws -> [ModelBatch] {
        var batches: [ModelBatch] = []
        while let batch = try next() { batches.append(batch.model) }
        return batches
    }

    static func all(_ directory: String) throws -> [ModelBatch] {
        try EventLogReader(directory: directory, from: .beginning).rest()
    }
}

func event(_ number: Int, padding: Int = 0) -> String {
    #"{"n":\#(number)\#(padding > 0 ? #","p":"\#(String(repeating: "x", count: padding))""# : "")}"#
}

func bytes(of path: String) throws -> [UInt8] {
    try Array(Data(contentsOf: URL(fileURLWithPath: path)))
}

func write(_ bytes: [UInt8], to path: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path))
}
