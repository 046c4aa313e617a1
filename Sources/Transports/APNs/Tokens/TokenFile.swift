import EventLog
import Foundation
import Time

/// The file that keeps a token over restarts. Only its owner may read it.
struct TokenFile {
    let path: String

    init(_ path: String) { self.path = path }

    /// Reads the token, whatever its age. Nil if the file cannot be read, or does not have the form that
    /// ``write(_:)`` gives it.
    func read() -> ProviderToken? {
        guard let bytes = FileManager.default.contents(atPath: path) else { return nil }
        let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard words.count == 3, let seconds = Int64(words[0]), 0...253_402_300_799 ~= seconds,
            let shift = Int64(words[2]), -600...600 ~= shift
        else { return nil }
        return ProviderToken(
            text: String(words[1]), issued: Instant(microseconds: seconds * 1_000_000), shift: .seconds(shift))
    }

    /// Writes the token's `iat`, its text and its shift in seconds. Replaces an old file in one step.
    ///
    /// - Returns: The error; nil if there was none.
    func write(_ token: ProviderToken) -> TokenFileError? {
        let text = "\(token.issued.microseconds / 1_000_000) \(token.text) \(token.shift.components.seconds)\n"
        let temporary = path + ".new"
        let isMade =
            makeFolder()
            && FileManager.default.createFile(
                atPath: temporary, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
        return isMade && rename(temporary, path) == 0 ? nil : TokenFileError(path: path)
    }

    /// Makes the folder if it is missing, because `belfry doctor apns` may run before the stage. Makes no folder inside
    /// another user's folder, because the stage's user might not be able to write there.
    ///
    /// - Returns: Whether the folder exists now.
    private func makeFolder() -> Bool {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        guard !FileManager.default.fileExists(atPath: folder.path) else { return true }
        var above = folder
        while above.path != "/", !FileManager.default.fileExists(atPath: above.path) { above.deleteLastPathComponent() }
        do {
            let owner = try FileManager.default.attributesOfItem(atPath: above.path)[.ownerAccountID] as? Int
            return owner == Int(geteuid()) && DataMode.owner.makeFolders(folder.path) == nil
        } catch { return false }
    }
}

struct TokenFileError: Error, Hashable, CustomStringConvertible {
    let path: String

    var description: String { "cannot write \(path)" }
}
