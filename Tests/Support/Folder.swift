import Foundation

/// A folder that goes when its owner does, in a place whose path is short enough for `ipc://` endpoints.
package final class Folder: Sendable {
    package let path: String
    private let isOurs: Bool

    /// Where tests make their folders: in memory in the ordinary check, as `deploy/test` says by `TMPDIR`.
    package static let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"

    package init(in parent: String = Folder.parent) throws {
        isOurs = true
        path = "\(parent)/belfry-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    /// A folder that somebody else made, and removes.
    package init(existing path: String) { (self.path, isOurs) = (path, false) }

    deinit {
        guard isOurs else { return }
        do { try FileManager.default.removeItem(atPath: path) } catch {
            // Nothing depends on it: the system clears its temporary folder.
        }
    }

    package func file(_ name: String) -> String { path + "/" + name }

    @discardableResult
    package func write(_ text: String, to name: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: file(name)))
        return file(name)
    }

    /// The whole lines of a file; none where there is no file.
    package func lines(of name: String) throws -> [String] {
        guard FileManager.default.fileExists(atPath: file(name)) else { return [] }
        let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: file(name))), as: UTF8.self)
        return text.split(separator: "\n").map(String.init)
    }
}
