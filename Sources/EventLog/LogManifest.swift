import Glibc
import Time

/// `log.json`: the name and identity of the log in a folder. The file is written when the log is made; only a repair
/// may write it again. Reading accepts only the exact bytes that ``write(in:)`` writes.
struct LogManifest: Hashable {
    var name: String
    var identity: LogIdentity

    private static let bytesMax = 4096

    private static let start = #"{"format":\#(BatchFormat.version),"name":""#
    private static let middle = #"","identity":""#
    private static let end = "\"}\n"

    private var text: String {
        LogManifest.start + name + LogManifest.middle + identity.description + LogManifest.end
    }

    /// Nil if the folder has no manifest.
    ///
    /// - Throws: ``EventLogError/damaged(file:offset:sequence:reason:)``;
    ///   ``EventLogError/unsupportedFormat(file:version:)``.
    static func read(in directory: LogDirectory) throws(EventLogError) -> LogManifest? {
        guard let file = try OpenFile.ifPresent(directory.manifestPath) else { return nil }
        let text = String(decoding: try file.bytes(bytesMax, at: 0), as: UTF8.self)
        if let version = otherVersion(text) { throw .unsupportedFormat(file: file.path, version: version) }
        guard let manifest = LogManifest(text) else {
            let reason = "the file was changed after Belfry wrote it"
            throw .damaged(file: file.path, offset: 0, sequence: 1, reason: reason)
        }
        return manifest
    }

    /// Nil if there is no log yet.
    ///
    /// - Throws: ``EventLogError/withoutManifest(directory:)`` if there are segments, because a writer writes the
    ///   manifest before the first segment; errors of ``read(in:)``.
    static func ifBegun(in directory: LogDirectory) throws(EventLogError) -> LogManifest? {
        if let manifest = try read(in: directory) { return manifest }
        if try directory.segments().isEmpty { return nil }
        // A writer may have made the manifest and a segment after the first look.
        guard let manifest = try read(in: directory) else { throw .withoutManifest(directory: directory.path) }
        return manifest
    }

    /// - Throws: ``EventLogError/notALog(directory:)``; errors of ``ifBegun(in:)``.
    static func required(in directory: LogDirectory) throws(EventLogError) -> LogManifest {
        guard let manifest = try ifBegun(in: directory) else { throw .notALog(directory: directory.path) }
        return manifest
    }

    /// Writes the file atomically and durably.
    func write(in directory: LogDirectory) throws(EventLogError) {
        try directory.replace(directory.manifestPath, with: text)
    }

    init(name: String, identity: LogIdentity) {
        self.name = name
        self.identity = identity
    }

    private init?(_ text: String) {
        let uuid = text.dropLast(LogManifest.end.count).suffix(LogIdentity.textBytes)
        guard let identity = LogIdentity(uuid: String(uuid)) else { return nil }
        let name = text.dropFirst(LogManifest.start.count).prefix { $0 != "\"" }
        self.init(name: String(name), identity: identity)
        guard self.text == text else { return nil }
    }

    private static func otherVersion(_ text: String) -> Int? {
        let key = #"{"format":"#
        guard text.hasPrefix(key), let version = Int(text.dropFirst(key.count).prefix { $0 != "," }) else { return nil }
        return version == BatchFormat.version ? nil : version
    }
}
