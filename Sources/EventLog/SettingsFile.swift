import Glibc
import Time

/// `settings.ndjson` beside a log: the settings that its stage ran with, each from where on. Stages write it and need
/// it to run their past again; the log's own tools know no more of a line than where it belongs.
///
/// The first line bears the identity of the log, and the CRC-32C of that and of all lines, without the two:
/// `{"after":0,"now":0,"log":"<uuid>","crc":"e3069283","kind":…}`. Files of earlier builds have no identity, or neither,
/// and are believed.
package struct SettingsFile: Hashable, Sendable {
    package struct Line: Hashable, Sendable {
        /// The last upstream event that the stage had taken in before.
        package var after: UInt64
        /// The `now` of the log's last batch before.
        package var now: Instant
        /// As it stands in the file, without the line feed, ``log`` and ``crc``.
        package var text: String
        /// What the line says of the whole file; the first one alone says it.
        package var log: LogIdentity?
        package var crc: String?

        package init(after: UInt64, now: Instant, text: String, log: LogIdentity? = nil, crc: String? = nil) {
            (self.after, self.now, self.text, self.log, self.crc) = (after, now, text, log, crc)
        }
    }

    package var lines: [Line]
    /// The log whose settings they are; nil where the file does not say.
    package var log: LogIdentity?
    /// Whether the file bears its CRC.
    package var isChecked: Bool

    package static let name = "settings.ndjson"
    package static let bytesMax = 16 << 20

    package init(lines: [Line], of log: LogIdentity? = nil, isChecked: Bool = true) {
        (self.lines, self.log, self.isChecked) = (lines, log, isChecked)
    }

    package static func path(in directory: String) -> String { "\(directory)/\(name)" }

    /// Nil where there is none, or nothing in it.
    ///
    /// - Parameter directory: The log's own folder.
    /// - Throws: ``EventLogError/wrongSettings(file:line:reason:)``, also for another log's.
    package static func read(logDirectory directory: String) throws(EventLogError) -> SettingsFile? {
        guard let found = try readAny(logDirectory: directory) else { return nil }
        guard let told = found.log, let own = try identity(ofLogAt: directory), told != own else { return found }
        throw .wrongSettings(
            file: path(in: directory), line: 1,
            reason: "these are the settings of log \(told), and this is log \(own): restore its own from a copy")
    }

    /// Nil where the folder does not say which log it holds.
    package static func identity(ofLogAt directory: String) throws(EventLogError) -> LogIdentity? {
        do throws(EventLogError) {
            return try LogManifest.read(in: LogDirectory(path: directory))?.identity
        } catch .damaged, .unsupportedFormat {
            return nil
        }
    }

    private static func readAny(logDirectory directory: String) throws(EventLogError) -> SettingsFile? {
        let path = path(in: directory)
        guard let file = try OpenFile.ifPresent(path) else { return nil }
        let size = try file.size()
        guard size <= bytesMax else {
            throw .wrongSettings(file: path, line: 1, reason: "\(size) bytes are more than Belfry ever writes")
        }
        guard size > 0 else { return nil }
        let bytes = try file.contents(bytesMax: Int(size))
        var texts = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let end = texts.removeLast()
        guard end.isEmpty else {
            throw .wrongSettings(file: path, line: texts.count + 1, reason: "the line does not end")
        }
        var lines: [Line] = []
        for text in texts {
            guard let line = Line(text) else {
                let reason = "the line does not begin and end as Belfry writes it"
                throw .wrongSettings(file: path, line: lines.count + 1, reason: reason)
            }
            lines.append(line)
        }
        let found = SettingsFile(lines: lines, of: lines.first?.log, isChecked: lines.first?.crc != nil)
        guard let line = found.firstWrongLine else { return found }
        throw .wrongSettings(
            file: path, line: line + 1, reason: "the lines are not those that were written: CRC differs")
    }

    /// The index of a line whose CRC is not that of the file, or that should have none.
    package var firstWrongLine: Int? {
        if isChecked, let first = lines.first, first.crc != crc { return 0 }
        return lines.indices.dropFirst().first { lines[$0].crc != nil || lines[$0].log != nil }
    }

    private var crc: String {
        let bytes = Array(((log.map { ["\($0)\n"] } ?? []) + lines.map { $0.text + "\n" }).joined().utf8)
        let digits = unsafe String(bytes.withUnsafeBytes { unsafe CRC32C.checksum($0) }, radix: 16)
        return String(repeating: "0", count: 8 - digits.utf8.count) + digits
    }

    /// The lines as they stand in the file, without line feeds.
    package var texts: [String] {
        guard isChecked, let first = lines.first else { return lines.map(\.text) }
        return [first.text(with: crc, of: log)] + lines.dropFirst().map(\.text)
    }

    /// As it stands in the file.
    package var text: String { texts.map { $0 + "\n" }.joined() }

    /// Writes it whole or not at all, and durably; nothing where there are no lines.
    func write(in log: LogDirectory) throws(EventLogError) {
        guard !lines.isEmpty else { return }
        try log.replace(SettingsFile.path(in: log.path), with: text)
    }
}

extension SettingsFile.Line {
    /// Nil for a line that begins or ends otherwise than stages write it.
    package init?(_ bytes: some Collection<UInt8>) {
        guard let text = String(validating: Array(bytes), as: UTF8.self), text.hasSuffix("}}"),
            let after = UInt64(text.between(#"{"after":"#, ",")),
            let now = Int64(text.between(#"{"after":\#(after),"now":"#, ","))
        else { return nil }
        let place = Self.place(after, now)
        let log = LogIdentity(uuid: String(text.between(place + #""log":""#, "\"")))
        let owned = place + Self.owner(log)
        let crc = text.between(owned + #""crc":""#, "\"")
        let start = crc.isEmpty ? owned : owned + #""crc":"\#(crc)","#
        guard text.hasPrefix(start + #""kind":""#), log == nil || !crc.isEmpty else { return nil }
        self.init(
            after: after, now: Instant(microseconds: now), text: place + text.dropFirst(start.count), log: log,
            crc: crc.isEmpty ? nil : String(crc))
    }

    fileprivate func text(with crc: String, of log: LogIdentity?) -> String {
        let place = Self.place(after, now.microseconds)
        return place + Self.owner(log) + #""crc":"\#(crc)","# + text.dropFirst(place.count)
    }

    private static func owner(_ log: LogIdentity?) -> String { log.map { #""log":"\#($0)","# } ?? "" }

    private static func place(_ after: UInt64, _ now: Int64) -> String { #"{"after":\#(after),"now":\#(now),"# }
}

extension String {
    /// What stands behind a beginning; empty where it begins otherwise.
    fileprivate func between(_ start: String, _ end: Character) -> Substring {
        hasPrefix(start) ? dropFirst(start.count).prefix { $0 != end } : ""
    }
}

extension LogDirectory {
    /// Puts a small file in place whole or not at all, and durably.
    func replace(_ path: String, with text: String) throws(EventLogError) {
        let temporary = path + ".new"
        let file = try OpenFile(temporary, O_WRONLY | O_CREAT | O_TRUNC, calls: calls)
        let failed = unsafe Array(text.utf8).withUnsafeBytes { unsafe file.write($0, at: 0, calls.write) }
        if let failed {
            throw EventLogError.failed(operation: "write", file: temporary, errno: failed).orFull(
                bytesNeeded: text.utf8.count)
        }
        try file.synchronize(calls)
        guard uninterrupted({ unsafe calls.rename(temporary, path) }) == 0 else {
            throw .lastFailure("rename", temporary)
        }
        try synchronize()
    }
}
