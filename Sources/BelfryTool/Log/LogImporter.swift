import EventLog
import Foundation
import JSON

/// Reads the lines of an export and makes the logs.
struct LogImporter: ~Copyable {
    private let folder: ImportFolder
    private var parser = JSONParser(limits: JSONLimits(bytesMax: SettingsFile.bytesMax, depthMax: 512))
    private var current: (name: String, log: LogImport)?
    private var batch: Batch?
    private(set) var logs: [String] = []

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

    mutating func finish() throws {
        if let batch { throw LogImportError("\(batch.left.of("event")) of the last batch are missing") }
        try finishLog()
        try folder.publish()
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
        let log = try LogImport(in: folder, name: name, identity: object.identity(), upstream: upstream)
        current = (name, log)
    }

    private mutating func finishLog() throws {
        guard let (name, log) = current else { return }
        try log.finish()
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
