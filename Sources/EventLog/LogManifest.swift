import Glibc
import Time

/// `log.json`: which log a folder holds. Written once, and read as strictly as only its writer's reader can.
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

    /// Nil where the folder has none.
    static func read(in directory: LogDirectory) throws(EventLogError) -> LogManifest? {
        guard let file = try OpenFile.ifPresent(directory.manifestPath) else { return nil }
        let text = String(decoding: try file.contents(bytesMax: bytesMax), as: UTF8.self)
        if let version = otherVersion(text) { throw .unsupportedFormat(file: file.path, version: version) }
        guard let manifest = LogManifest(text) else {
            throw .damaged(file: file.path, offset: 0, sequence: 1, reason: "this is not what was written")
        }
        return manifest
    }

    /// Nil where there is no log, or none yet.
    ///
    /// - Throws: ``EventLogError/withoutManifest(directory:)`` where there are segments: it is written before them.
    static func ifBegun(in directory: LogDirectory) throws(EventLogError) -> LogManifest? {
        if let manifest = try read(in: directory) { return manifest }
        if try directory.segments().isEmpty { return nil }
        // A writer may have made both just now.
        guard let manifest = try read(in: directory) else { throw .withoutManifest(directory: directory.path) }
        return manifest
    }

    /// - Throws: ``EventLogError/notALog(directory:)``; ``EventLogError/withoutManifest(directory:)``.
    static func required(in directory: LogDirectory) throws(EventLogError) -> LogManifest {
        guard let manifest = try ifBegun(in: directory) else { throw .notALog(directory: directory.path) }
        return manifest
    }

    /// Writes it whole or not at all, and durably.
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
