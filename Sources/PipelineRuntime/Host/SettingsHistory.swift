import EventLog
import JSON
import PipelineKit

/// The settings that a stage's log was written under, in the order in which they came: `settings.ndjson` beside it.
///
/// Without it a log could be replayed only as long as nobody edits the pipeline file.
package struct SettingsHistory: Sendable {
    /// One line: from where on a stage ran with which settings.
    package struct Entry: Hashable, Sendable {
        /// The last upstream sequence that the stage had taken in before.
        package var after: UInt64
        /// The `now` of its log's last batch before; later batches are under these settings.
        package var now: Instant
        /// The stage's kind.
        package var kind: String
        /// The settings as ``PipelineKit/SettingsReader/record(without:)`` writes them.
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

    private static let bytesMax = 16 << 20

    /// - Throws: ``SmallTextError`` where the file is there and not what Belfry wrote.
    package init(logDirectory: String) throws {
        path = logDirectory + "/settings.ndjson"
        entries =
            try SmallText.read(path, bytesMax: SettingsHistory.bytesMax).map { [path] text in
                try text.split(separator: "\n").map { try SettingsHistory.entry($0, in: path) }
            } ?? []
    }

    /// A history that is kept elsewhere.
    ///
    /// - Parameter path: What errors call it.
    package init(_ entries: [Entry], path: String) { (self.entries, self.path) = (entries, path) }

    /// Puts one more entry on record, unless it says what the last one does.
    package mutating func append(_ entry: Entry) throws {
        if let last = entries.last, last.kind == entry.kind, last.settings == entry.settings { return }
        let all = entries + [entry]
        try SmallText.write(all.map(SettingsHistory.line).joined(), to: path)
        entries = all
    }

    /// A reader for an entry's settings; nil where they are not an object.
    package func reader(of entry: Entry) -> SettingsReader? {
        SettingsHistory.withJSON(entry.settings) {
            SettingsReader(record: $0, file: path, folder: "/", keyPath: entry.kind)
        } ?? nil
    }

    private static func line(_ entry: Entry) -> String {
        var buffer = ByteBuffer()
        buffer.append("{\"after\":")
        buffer.appendJSON(entry.after)
        buffer.append(",\"now\":")
        buffer.appendJSON(entry.now.microseconds)
        buffer.append(",\"kind\":")
        buffer.appendJSON(entry.kind)
        buffer.append(",\"settings\":")
        buffer.append(raw: entry.settings)
        buffer.append("}\n")
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    private static func entry(_ line: Substring, in path: String) throws -> Entry {
        let entry = withJSON(String(line)) { json -> Entry? in
            guard let after = json.natural("after"), let now = json["now"]?.int64, let kind = json.text("kind"),
                let settings = json["settings"], settings.isObject
            else { return nil }
            return Entry(
                after: after, now: Instant(microseconds: now), kind: kind,
                settings: String(decoding: settings.raw, as: UTF8.self))
        }
        guard let entry = entry ?? nil else { throw SmallTextError.unreadable(path) }
        return entry
    }

    private static func withJSON<Result>(_ text: String, _ body: (JSONValue) -> Result) -> Result? {
        var parser = JSONParser()
        return Array(text.utf8).withUnsafeBytes { bytes in
            do throws(JSONError) { return body(try parser.parse(bytes)) } catch { return nil }
        }
    }
}
