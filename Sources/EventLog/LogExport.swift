import Glibc
import Time

/// Writes logs as lines of JSON. ``LogImport`` makes the same logs from them.
///
/// - `{"log":"matches","identity":"<uuid>","format":1,"upstream":{"log":"changes","identity":"<uuid>"}}` begins a log.
///   `upstream` is missing for a log without an upstream log, such as the changes log. `"tokens":"masked"` says that an
///   ``ExportMask`` was used: then the events are changed, and there are no snapshots.
/// - `{"settings":{…}}` is a line of `settings.ndjson`.
/// - `{"snapshot":"<file name>","part":"<Base64>"}` is a part of a snapshot. Snapshots are only exported when the log
///   or its upstream log lacks its first events or has no segments, because a replay may need them then.
/// - `{"segment":17,"now":"2026-11-20T09:30:00Z","cursor":{"changes":12}}` begins a segment: its opening.
/// - `{"first":17,"count":2,"now":"2026-11-20T09:30:00.000001Z","cursor":{"changes":13}}` begins a batch.
/// - The `count` lines after the beginning of a batch are its events, byte for byte.
/// - `{"end":[{"log":"matches","batches":1,"events":2}]}` is the last line, with the totals of each log. An export
///   without this line was cut off.
package enum LogExport {
    /// Exports logs.
    ///
    /// - Parameters:
    ///   - directories: The logs' own folders. A torn last batch is left out.
    ///   - mask: Hides the devices' tokens; nil exports the tokens.
    ///   - write: Called with one or more whole lines, which are valid during the call.
    /// - Returns: The paths of snapshots that a replay needs, but that were left out because the mask cannot be applied
    ///   to snapshots.
    /// - Throws: ``EventLogError/notALog(directory:)`` and other errors of reading `log.json`;
    ///   ``EventLogError/damaged(file:offset:sequence:reason:)``; ``EventLogError/wrongSettings(file:line:reason:)``;
    ///   ``EventLogError/failed(operation:file:errno:)``, also if retention removes a segment during the export; errors
    ///   of `mask` and `write`.
    @discardableResult
    package static func run(
        directories: [String], mask: ExportMask? = nil, write: (UnsafeRawBufferPointer) throws -> Void
    ) throws -> [String] {
        var leftOut: [String] = []
        let logs = try directories.map { try unsafe run($0, mask, &leftOut, write) }
        try unsafe put(ExportLine.end(logs), write)
        return leftOut
    }

    private static func run(
        _ directory: String, _ mask: ExportMask?, _ leftOut: inout [String],
        _ write: (UnsafeRawBufferPointer) throws -> Void
    ) throws -> ExportedLog {
        let log = LogDirectory(path: directory)
        let manifest = try LogManifest.required(in: log)
        let upstream = try UpstreamNote.read(directory: directory)
        try unsafe put(ExportLine.log(manifest, upstream, isMasked: mask != nil), write)
        try exportSettings(of: log) { try unsafe put($0, write) }
        let snapshots = try neededSnapshots(of: log, upstream)
        if mask == nil {
            try exportSnapshots(snapshots) { try unsafe put($0, write) }
        } else {
            leftOut += snapshots.map(\.path)
        }
        let segments = try log.segments()
        var lastNow = Instant.epoch
        var next: UInt64?
        var exported = ExportedLog(name: manifest.name)
        for first in segments {
            let segment = try SegmentReader(log, first, manifest.identity, lastNow: lastNow)
            if let next, next != first { throw segment.damaged("the previous segment ends with sequence \(next - 1)") }
            try unsafe export(segment, isLast: first == segments.last, mask, &exported, write)
            (lastNow, next) = (segment.lastNow, segment.nextSequence)
        }
        return exported
    }

    private static func export(
        _ segment: SegmentReader, isLast: Bool, _ mask: ExportMask?, _ exported: inout ExportedLog,
        _ write: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        while true {
            switch try unsafe segment.peek() {
            case .end: return
            case .unfinished(let reason):
                guard isLast else { throw segment.damaged("\(reason), in a segment that is not the last") }
                return
            case .batch(let batch):
                try unsafe put(ExportLine.batch(batch.header, isOpening: batch.isOpening), write)
                if let masked = try unsafe mask?.events(batch.body) {
                    try unsafe masked.withUnsafeBytes { try unsafe write($0) }
                } else if unsafe batch.body.count > 0 {
                    try unsafe write(batch.body)
                }
                if unsafe !batch.isOpening { unsafe exported.add(events: batch.header.count) }
                unsafe segment.consume(batch)
            }
        }
    }

    private static func put(_ line: String, _ write: (UnsafeRawBufferPointer) throws -> Void) throws {
        try unsafe Array((line + "\n").utf8).withUnsafeBytes { try unsafe write($0) }
    }
}

/// Hides devices' tokens in the events of an export.
@safe package struct ExportMask {
    /// Returns masked lines for the lines of a batch; nil if no line needs a mask.
    let events: (UnsafeRawBufferPointer) throws -> [UInt8]?

    package init(events: @escaping (UnsafeRawBufferPointer) throws -> [UInt8]?) { unsafe self.events = events }
}

/// The totals of one log in an export.
package struct ExportedLog: Hashable, Sendable {
    package var name: String
    /// The number of batches, without the openings.
    package private(set) var batches: UInt64 = 0
    package private(set) var events: UInt64 = 0

    package init(name: String, batches: UInt64 = 0, events: UInt64 = 0) {
        (self.name, self.batches, self.events) = (name, batches, events)
    }

    /// Counts a batch.
    package mutating func add(events count: Int) {
        batches += 1
        events += UInt64(count)
    }
}

/// The lines that begin a log, a segment or a batch, and the last line of an export.
private enum ExportLine {
    static func end(_ logs: [ExportedLog]) -> String {
        let counts = logs.map { "{\"log\":\"\($0.name)\",\"batches\":\($0.batches),\"events\":\($0.events)}" }
        return "{\"end\":[\(counts.joined(separator: ","))]}"
    }

    static func log(_ manifest: LogManifest, _ upstream: UpstreamNote?, isMasked: Bool) -> String {
        let note = upstream.map { ",\"upstream\":" + $0.text.dropLast() } ?? ""
        let mask = isMasked ? ",\"tokens\":\"masked\"" : ""
        return "{\"log\":\"\(manifest.name)\",\"identity\":\"\(manifest.identity)\",\"format\":\(BatchFormat.version)"
            + "\(mask)\(note)}"
    }

    static func batch(_ header: BatchHeader, isOpening: Bool) -> String {
        let cursor = header.cursor.positions.sorted { $0.key < $1.key }
            .map { "\(text($0.key)):\($0.value)" }.joined(separator: ",")
        let key = isOpening ? "segment" : "first"
        let count = isOpening ? "" : ",\"count\":\(header.count)"
        return "{\"\(key)\":\(header.firstSequence)\(count),\"now\":\"\(header.now.rfc3339)\",\"cursor\":{\(cursor)}}"
    }

    /// A JSON string (RFC 8259, section 7).
    private static func text(_ name: String) -> String {
        var text = "\""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "\"", "\\": text += "\\\(scalar)"
            case "\u{0}"..<"\u{20}": text += "\\u" + String(scalar.value, digits: 4, radix: 16)
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}
