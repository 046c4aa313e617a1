import Glibc
import Time

/// `settings.ndjson` beside a log: the settings that its stage ran with. Each line applies from a position on. A replay
/// of the stage needs these settings.
///
/// The first line also has the log's identity, and a CRC-32C of that identity and of all lines without these two
/// members: `{"after":0,"now":0,"log":"<uuid>","crc":"e3069283","kind":…}`. Files of earlier builds lack the identity
/// or both members. Without a CRC a file is not checked.
package struct SettingsFile: Hashable, Sendable {
    package struct Line: Hashable, Sendable {
        /// The last upstream event before the settings apply; for a source, the last event of its own log.
        package var after: UInt64
        /// The `now` of the log's last batch before the settings apply.
        package var now: Instant
        /// The line without ``log``, ``crc`` and the line feed.
        package var text: String
        /// The log that the whole file belongs to. Nil in all lines but the first, and in files of earlier builds.
        package var log: LogIdentity?
        /// The CRC of the whole file. Nil in all lines but the first, and in files of the earliest builds.
        package var crc: String?

        package init(after: UInt64, now: Instant, text: String, log: LogIdentity? = nil, crc: String? = nil) {
            (self.after, self.now, self.text, self.log, self.crc) = (after, now, text, log, crc)
        }
    }

    package var lines: [Line]
    /// The log that the settings belong to; nil if the file does not say.
    package var log: LogIdentity?
    /// Whether the file has a CRC.
    package var hasCRC: Bool

    package static let name = "settings.ndjson"
    package static let bytesMax = 16 << 20

    package init(lines: [Line], of log: LogIdentity? = nil, hasCRC: Bool = true) {
        (self.lines, self.log, self.hasCRC) = (lines, log, hasCRC)
    }

    package static func path(in directory: String) -> String { "\(directory)/\(name)" }

    /// Nil if the file is missing or empty.
    ///
    /// - Parameter directory: The log's own folder.
    /// - Throws: ``EventLogError/wrongSettings(file:line:reason:)``, also for the settings of another log.
    package static func read(logDirectory directory: String) throws(EventLogError) -> SettingsFile? {
        guard let found = try readAny(logDirectory: directory) else { return nil }
        guard let other = found.log, let own = try identity(ofLogAt: directory), other != own else { return found }
        throw .wrongSettings(
            file: path(in: directory), line: 1,
            reason: "the file holds the settings of log \(other), but this is log \(own)")
    }

    /// The identity of the log in a folder; nil if its `log.json` is missing, damaged or of another format.
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
            let reason = "the file has \(size) bytes; Belfry reads at most \(bytesMax)"
            throw .wrongSettings(file: path, line: 1, reason: reason)
        }
        guard size > 0 else { return nil }
        let bytes = try file.bytes(Int(size), at: 0)
        var texts = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let end = texts.removeLast()
        guard end.isEmpty else {
            let reason = "the last line does not end with a line feed"
            throw .wrongSettings(file: path, line: texts.count + 1, reason: reason)
        }
        var lines: [Line] = []
        for text in texts {
            guard let line = Line(text) else {
                let reason = "the line does not begin and end as Belfry writes it"
                throw .wrongSettings(file: path, line: lines.count + 1, reason: reason)
            }
            lines.append(line)
        }
        let found = SettingsFile(lines: lines, of: lines.first?.log, hasCRC: lines.first?.crc != nil)
        guard let line = found.firstWrongLine else { return found }
        throw .wrongSettings(file: path, line: line + 1, reason: "the lines were changed after Belfry wrote them")
    }

    /// The index of the first wrong line; nil if all lines are right. The first line is wrong if its CRC
    /// does not match the file. A later line is wrong if it has an identity or a CRC.
    var firstWrongLine: Int? {
        if hasCRC, let first = lines.first, first.crc != crc { return 0 }
        return lines.indices.dropFirst().first { lines[$0].crc != nil || lines[$0].log != nil }
    }

    private var crc: String {
        let bytes = Array(((log.map { ["\($0)\n"] } ?? []) + lines.map { $0.text + "\n" }).joined().utf8)
        return String(CRC32C.checksum(bytes[...]), digits: 8, radix: 16)
    }

    /// The file's lines, without line feeds.
    package var texts: [String] {
        guard hasCRC, let first = lines.first else { return lines.map(\.text) }
        return [first.text(with: crc, of: log)] + lines.dropFirst().map(\.text)
    }

    /// The file's contents.
    package var text: String { texts.map { $0 + "\n" }.joined() }

    /// Writes the file atomically and durably, unless there are no lines.
    func write(in log: LogDirectory) throws(EventLogError) {
        guard !lines.isEmpty else { return }
        try log.replace(SettingsFile.path(in: log.path), with: text)
    }
}

extension SettingsFile.Line {
    /// Nil for a line that does not begin and end as stages write it.
    package init?(_ bytes: some Collection<UInt8>) {
        guard let text = String(validating: Array(bytes), as: UTF8.self), text.hasSuffix("}}"),
            let after = UInt64(text.between(#"{"after":"#, ",")),
            let now = Int64(text.between(#"{"after":\#(after),"now":"#, ","))
        else { return nil }
        let head = Self.head(after, now)
        let log = LogIdentity(uuid: String(text.between(head + #""log":""#, "\"")))
        let beforeCRC = head + Self.logMember(log)
        let crc = text.between(beforeCRC + #""crc":""#, "\"")
        let start = crc.isEmpty ? beforeCRC : beforeCRC + #""crc":"\#(crc)","#
        guard text.hasPrefix(start + #""kind":""#), log == nil || !crc.isEmpty else { return nil }
        self.init(
            after: after, now: Instant(microseconds: now), text: head + text.dropFirst(start.count), log: log,
            crc: crc.isEmpty ? nil : String(crc))
    }

    fileprivate func text(with crc: String, of log: LogIdentity?) -> String {
        let head = Self.head(after, now.microseconds)
        return head + Self.logMember(log) + #""crc":"\#(crc)","# + text.dropFirst(head.count)
    }

    private static func logMember(_ log: LogIdentity?) -> String { log.map { #""log":"\#($0)","# } ?? "" }

    private static func head(_ after: UInt64, _ now: Int64) -> String { #"{"after":\#(after),"now":\#(now),"# }
}

extension String {
    /// The text between the prefix `start` and the next `end`; empty without that prefix.
    fileprivate func between(_ start: String, _ end: Character) -> Substring {
        hasPrefix(start) ? dropFirst(start.count).prefix { $0 != end } : ""
    }
}

extension LogDirectory {
    /// Replaces a small file atomically and durably.
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
