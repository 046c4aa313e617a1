import EventLog
import Foundation
import JSON
import Time

/// Makes logs from the lines of an export.
struct LogImporter: ~Copyable {
    private let folder: ImportFolder
    private var parser = JSONParser(limits: JSONLimits(bytesMax: SettingsFile.bytesMax, depthMax: 512))
    private var current: (name: String, log: LogImport)?
    private var batch: Batch?
    /// The logs since the previous `end` line, each with the number of its batches and the number of its events.
    private var counts: [ExportedLog] = []
    private var lastSequence: UInt64 = 0
    private var hasEnded = false
    private(set) var logs: [String] = []
    /// The parts of a cut-off log that were not imported.
    private(set) var leftOut: [String] = []
    /// Whether the device tokens of at least one log are masked.
    private(set) var isMasked = false

    private struct Batch {
        var first: UInt64
        var count: Int
        var cursor: Cursor
        var now: Instant
        /// The number of events that are still to come.
        var remaining: Int
        var body: [UInt8] = []
    }

    init(into folder: String) throws(EventLogError) { self.folder = try ImportFolder(folder) }

    /// Imports the next line of the export.
    ///
    /// - Parameter line: The line without its line feed.
    mutating func importLine(_ line: UnsafeRawBufferPointer) throws {
        if batch != nil { return try importEvent(line) }
        let object = try parser.parse(line)
        if object["log"] != nil {
            try finishLog()
            try beginLog(object)
        } else if hasEnded {
            throw LogImportError(
                "this line comes after the end of an export, but does not begin another export ({\"log\":…})")
        } else if let end = object["end"] {
            try finishLog()
            try check(end)
        } else if object["segment"] != nil {
            try log().begin(
                segment: object.number("segment"), cursor: object.cursor(), now: object.now())
        } else if let settings = object["settings"] {
            try log().add(settings: settings.raw)
        } else if object["snapshot"] != nil {
            guard let part = Data(base64Encoded: try object.text("part")) else {
                throw LogImportError("member 'part' is not Base64")
            }
            let name = try object.text("snapshot")
            try part.withUnsafeBytes { try log().add(snapshot: name, part: $0) }
        } else {
            let count = Int(clamping: try object.number("count"))
            batch = Batch(
                first: try object.number("first"), count: count, cursor: try object.cursor(), now: try object.now(),
                remaining: count)
            if count == 0 { try finishBatch() }
        }
    }

    /// Describes the part that is missing at the end of a cut-off export; nil for a complete export.
    var missing: String? {
        if hasEnded { return nil }
        guard let name = current?.name else { return "the last line of an export, {\"end\":…}, is missing" }
        if let batch { return "the last batch of log \(name) lacks \(batch.remaining.of("event"))" }
        return "the last line of an export, {\"end\":…}, is missing after sequence \(lastSequence) of log \(name)"
    }

    /// The error message for a cut-off export.
    static func cutOffMessage(_ missing: String) -> String {
        "\(missing): the export was cut off; export again, or import the complete batches with --partial. An export by "
            + "an early version of Belfry needs --partial even if it is complete"
    }

    /// Moves the logs to their folder. Leaves out an incomplete last batch.
    mutating func finish() throws {
        batch = nil
        try finishLog(isCut: !hasEnded)
        try folder.publish()
    }

    private mutating func check(_ end: JSONValue) throws {
        let exported = try end.elements.map {
            ExportedLog(name: try $0.text("log"), batches: try $0.number("batches"), events: try $0.number("events"))
        }
        if let (found, original) = zip(counts, exported).first(where: { $0 != $1 }) {
            throw LogImportError(
                "found \(found.events.of("event")) in \(found.batches.of("batch")) of log \(found.name), but "
                    + "\(original.events.of("event")) in \(original.batches.of("batch")) of log \(original.name) were exported"
            )
        }
        guard counts.count == exported.count else {
            throw LogImportError("found \(counts.count.of("log")), but \(exported.count) were exported")
        }
        (counts, hasEnded) = ([], true)
    }

    private mutating func importEvent(_ line: UnsafeRawBufferPointer) throws {
        guard try parser.parse(line).isObject else { throw LogImportError("an event is not a JSON object") }
        batch?.body.append(contentsOf: line)
        batch?.body.append(UInt8(ascii: "\n"))
        batch?.remaining -= 1
        if batch?.remaining == 0 { try finishBatch() }
    }

    private mutating func finishBatch() throws {
        guard let done = batch else { return }
        batch = nil
        let log = try log()
        try done.body.withUnsafeBytes {
            try log.append($0, first: done.first, count: done.count, cursor: done.cursor, now: done.now)
        }
        counts[counts.count - 1].add(events: done.count)
        lastSequence = done.first + UInt64(done.count) - 1
    }

    private mutating func beginLog(_ object: JSONValue) throws {
        let name = try object.text("log")
        let format = try object.number("format")
        guard format == UInt64(BatchFormat.version) else {
            throw LogImportError(
                "log \(name) has format \(format); this version reads format \(BatchFormat.version)")
        }
        let upstream = try object["upstream"].map {
            UpstreamNote(log: try $0.text("log"), identity: try $0.identity())
        }
        if object["tokens"]?.equals("masked") == true { isMasked = true }
        let log = try LogImport(in: folder, name: name, identity: object.identity(), upstream: upstream)
        current = (name, log)
        counts.append(ExportedLog(name: name))
        (hasEnded, lastSequence) = (false, 0)
    }

    private mutating func finishLog(isCut: Bool = false) throws {
        guard let (name, log) = current else { return }
        leftOut += try log.finish(isCut: isCut).map { "log \(name): without \($0)" }
        logs.append(name)
        current = nil
    }

    private func log() throws -> LogImport {
        guard let current else { throw LogImportError("no log begins before this line") }
        return current.log
    }
}

extension JSONValue {
    private func required<Value>(
        _ key: String, _ kind: String, _ read: (JSONValue) -> Value?
    ) throws(LogImportError) -> Value {
        guard let value = member(key).flatMap(read) else {
            throw LogImportError("member '\(key)' is missing, or is not \(kind)")
        }
        return value
    }

    fileprivate func text(_ key: String) throws(LogImportError) -> String {
        try required(key, "a string") { $0.string }
    }

    fileprivate func number(_ key: String) throws(LogImportError) -> UInt64 {
        try required(key, "a whole number") { $0.int64.flatMap(UInt64.init(exactly:)) }
    }

    fileprivate func identity() throws(LogImportError) -> LogIdentity {
        try required("identity", "a UUID") { $0.string.flatMap { LogIdentity(uuid: $0) } }
    }

    fileprivate func now() throws(LogImportError) -> Instant {
        try required("now", "an RFC 3339 time") { $0.string.flatMap { Instant(rfc3339: $0) } }
    }

    fileprivate func cursor() throws(LogImportError) -> Cursor {
        var cursor = Cursor()
        guard let object = member("cursor"), object.isObject else {
            throw LogImportError("member 'cursor' is missing, or is not an object")
        }
        for (key, value) in object.members {
            guard let name = key.string, let sequence = value.int64.flatMap(UInt64.init(exactly:)) else {
                throw LogImportError("a position in 'cursor' is not a whole number")
            }
            cursor.positions[name] = sequence
        }
        return cursor
    }
}
