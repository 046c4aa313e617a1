import EventLog
import Foundation
import JSON
import Time

/// Reads the lines of an export and makes the logs.
struct LogImporter: ~Copyable {
    private let folder: ImportFolder
    private var parser = JSONParser(limits: JSONLimits(bytesMax: SettingsFile.bytesMax, depthMax: 512))
    private var current: (name: String, log: LogImport)?
    private var batch: Batch?
    /// What came since the last end.
    private var counts: [ExportedLog] = []
    private var lastSequence: UInt64 = 0
    private var hasEnded = false
    private(set) var logs: [String] = []
    /// What of the last log of an export that was cut off is not taken, though it came.
    private(set) var leftOut: [String] = []
    /// Whether the tokens of devices are not those that were registered.
    private(set) var isMasked = false

    private struct Batch {
        var first: UInt64
        var count: Int
        var cursor: Cursor
        var now: Instant
        var left: Int
        var body: [UInt8] = []
    }

    /// - Parameter folder: Where the logs go.
    init(into folder: String) throws(EventLogError) { self.folder = try ImportFolder(folder) }

    /// - Parameter line: Without its line feed.
    mutating func take(_ line: UnsafeRawBufferPointer) throws {
        if batch != nil { return try takeEvent(line) }
        let object = try parser.parse(line)
        if object["log"] != nil {
            try finishLog()
            try beginLog(object)
        } else if hasEnded {
            throw LogImportError("only another export may stand behind the end of one")
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
                throw LogImportError("no Base64 in 'part'")
            }
            let name = try object.text("snapshot")
            try part.withUnsafeBytes { try log().add(snapshot: name, part: $0) }
        } else {
            let count = Int(clamping: try object.number("count"))
            batch = Batch(
                first: try object.number("first"), count: count, cursor: try object.cursor(), now: try object.now(),
                left: count)
            if count == 0 { try finishBatch() }
        }
    }

    /// What an export that was cut off lacks; nil where it is whole.
    var missing: String? {
        if hasEnded { return nil }
        guard let name = current?.name else { return "there is no line {\"end\":…}, the last of an export" }
        if let batch { return "\(batch.left.of("event")) of the last batch of log \(name) are missing" }
        return "there is no line {\"end\":…}, the last of an export, behind sequence \(lastSequence) of log \(name)"
    }

    /// What to do about it.
    static func cut(_ missing: String) -> String {
        "\(missing): the export was cut off; export again, or take what is there with --partial (also where an earlier "
            + "version made it)"
    }

    /// Makes logs of what came; of a batch that is not whole, nothing.
    mutating func finish() throws {
        batch = nil
        try finishLog(isCut: !hasEnded)
        try folder.publish()
    }

    private mutating func check(_ end: JSONValue) throws {
        let told = try end.elements.map {
            ExportedLog(name: try $0.text("log"), batches: try $0.number("batches"), events: try $0.number("events"))
        }
        if let (found, was) = zip(counts, told).first(where: { $0 != $1 }) {
            throw LogImportError(
                "there are \(found.events.of("event")) in \(found.batches.of("batch")) of log \(found.name), and there were "
                    + "\(was.events.of("event")) in \(was.batches.of("batch")) of log \(was.name)")
        }
        guard counts.count == told.count else {
            throw LogImportError("there are \(counts.count.of("log")), and there were \(told.count)")
        }
        (counts, hasEnded) = ([], true)
    }

    private mutating func takeEvent(_ line: UnsafeRawBufferPointer) throws {
        guard try parser.parse(line).isObject else { throw LogImportError("an event is a JSON object") }
        batch?.body.append(contentsOf: line)
        batch?.body.append(UInt8(ascii: "\n"))
        batch?.left -= 1
        if batch?.left == 0 { try finishBatch() }
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
            throw LogImportError("format \(format); this version reads format \(BatchFormat.version)")
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
    fileprivate func text(_ key: String) throws(LogImportError) -> String {
        guard let text = member(key)?.string else { throw LogImportError("no text in '\(key)'") }
        return text
    }

    fileprivate func number(_ key: String) throws(LogImportError) -> UInt64 {
        guard let number = member(key)?.int64.flatMap(UInt64.init(exactly:)) else {
            throw LogImportError("no whole number in '\(key)'")
        }
        return number
    }

    fileprivate func identity() throws(LogImportError) -> LogIdentity {
        guard let identity = LogIdentity(uuid: try text("identity")) else {
            throw LogImportError("no UUID in 'identity'")
        }
        return identity
    }

    fileprivate func now() throws(LogImportError) -> Instant {
        guard let now = Instant(rfc3339: try text("now")) else { throw LogImportError("no RFC 3339 time in 'now'") }
        return now
    }

    fileprivate func cursor() throws(LogImportError) -> Cursor {
        var cursor = Cursor()
        guard let object = member("cursor"), object.isObject else { throw LogImportError("no object in 'cursor'") }
        for (key, value) in object.members {
            guard let name = key.string, let sequence = value.int64.flatMap(UInt64.init(exactly:)) else {
                throw LogImportError("no whole number in 'cursor'")
            }
            cursor.positions[name] = sequence
        }
        return cursor
    }
}
