import EventLog
import JSON
import PipelineKit
import Time

/// The settings that a stage's log was written under, in order: `settings.ndjson` beside the log. With them the log can
/// be replayed after the pipeline file has changed.
package struct SettingsHistory: Sendable {
    /// One line: settings, and the position from which they applied.
    package struct Entry: Hashable, Sendable {
        /// The last upstream sequence that the stage took under the previous settings; for a source, the last sequence
        /// that it wrote under them.
        package var after: UInt64
        /// The `now` of the last batch under the previous settings.
        package var now: Instant
        /// The stage's kind.
        package var kind: String
        /// The settings as ``PipelineKit/SettingsReader/record(without:hasSeals:)`` writes them. A missing setting has
        /// the default of that time.
        package var settings: String

        package init(after: UInt64, now: Instant, kind: String, settings: String) {
            self.after = after
            self.now = now
            self.kind = kind
            self.settings = settings
        }
    }

    package private(set) var entries: [Entry]
    package let path: String
    /// The log's identity; nil if it is unknown.
    private let log: LogIdentity?

    /// - Throws: ``EventLogError/wrongSettings(file:line:reason:)`` if the file is damaged or belongs to another log;
    ///   another ``EventLogError`` if a file cannot be read.
    package init(logDirectory: String) throws(EventLogError) {
        path = SettingsFile.path(in: logDirectory)
        log = try SettingsFile.identity(ofLogAt: logDirectory)
        entries = []
        for line in try SettingsFile.read(logDirectory: logDirectory)?.lines ?? [] {
            let found: Entry?
            do throws(JSONError) { found = try SettingsHistory.entry(line) } catch {
                throw .wrongSettings(file: path, line: entries.count + 1, reason: "\(error)")
            }
            guard let entry = found else {
                let reason = "the line has no string 'kind', or no object 'settings'"
                throw .wrongSettings(file: path, line: entries.count + 1, reason: reason)
            }
            entries.append(entry)
        }
    }

    /// A history that is not read from a log's folder. Errors name it by `path`.
    package init(_ entries: [Entry], path: String) {
        (self.entries, self.path, log) = (entries, path, nil)
    }

    /// Records one more entry, unless the last entry has the same kind and settings.
    package mutating func append(_ entry: Entry) throws {
        if let last = entries.last, last.kind == entry.kind, last.settings == entry.settings { return }
        var next = self
        next.entries.append(entry)
        try AtomicTextFile.write(next.text, to: path)
        self = next
    }

    /// The content of the file.
    var text: String {
        let lines = entries.map { entry in
            SettingsFile.Line(after: entry.after, now: entry.now, text: SettingsHistory.line(entry))
        }
        return SettingsFile(lines: lines, of: log).text
    }

    /// A reader for an entry's settings; nil if the settings are not a JSON object.
    package func reader(of entry: Entry) -> SettingsReader? {
        do throws(JSONError) {
            return try SettingsHistory.withJSON(entry.settings) {
                SettingsReader(record: $0, file: path, folder: "/", keyPath: entry.kind)
            }
        } catch { return nil }
    }

    /// The recorded settings of all entries, without their seals.
    package var plainRecords: [String] { entries.map { reader(of: $0)?.record(hasSeals: false) ?? $0.settings } }

    /// A copy of the stage. Each setting that has the same value in the last entry gets that value's seals: the
    /// recorded hashes of secrets and files.
    package func copyingSeals(to stage: PipelineStage) -> PipelineStage {
        guard let last = entries.last.flatMap(reader) else { return stage }
        return stage.sealed(like: last)
    }

    private static func line(_ entry: Entry) -> String {
        var buffer = ByteBuffer()
        buffer.append("{")
        buffer.append("after", entry.after)
        buffer.append("now", entry.now.microseconds)
        buffer.append("kind", entry.kind)
        buffer.append("settings", raw: entry.settings)
        buffer.append("}")
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    /// Nil if the line has no string `kind`, or no object `settings`.
    private static func entry(_ line: SettingsFile.Line) throws(JSONError) -> Entry? {
        try withJSON(line.text) { json throws(JSONError) -> Entry? in
            guard let kind = json.text("kind"), let settings = json["settings"], settings.isObject else { return nil }
            let text = String(decoding: settings.raw, as: UTF8.self)
            return Entry(after: line.after, now: line.now, kind: kind, settings: text)
        }
    }

    static func withJSON<Result>(
        _ text: String, _ body: (JSONValue) throws(JSONError) -> Result
    ) throws(JSONError) -> Result {
        var parser = JSONParser(limits: JSONLimits(bytesMax: SettingsFile.bytesMax))
        let bytes = Array(text.utf8)
        return try bytes.withUnsafeBytes { bytes in
            Swift.Result { () throws(JSONError) in try body(try parser.parse(bytes)) }
        }.get()
    }
}
