import Foundation

/// Reads and writes the files that hold keys and certificates.
enum CredentialFile {
    static func read(_ path: String) throws(StartError) -> String? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        do { return try String(contentsOfFile: path, encoding: .utf8) } catch {
            throw .file(path: path, reason: "cannot be read: \(error.localizedDescription)")
        }
    }

    static func makeFolder(_ path: String) throws(StartError) {
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            throw .file(path: path, reason: "cannot be made: \(error.localizedDescription)")
        }
    }

    /// - Parameter isSecret: Whether only the owner may read the file.
    static func write(_ text: String, to path: String, isSecret: Bool) throws(StartError) {
        let mode = NSNumber(value: isSecret ? 0o600 : 0o644)
        let isMade = FileManager.default.createFile(
            atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: mode])
        guard isMade else { throw .file(path: path, reason: "cannot be written: \(String(cString: strerror(errno)))") }
    }
}
