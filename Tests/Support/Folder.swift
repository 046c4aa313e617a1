import Foundation

/// A folder for the files of a test.
package final class Folder: Sendable {
    package let path: String
    private let isRemovedWithObject: Bool

    /// The folder in which tests make folders: `TMPDIR`. In the ordinary check, `deploy/test` sets it to a folder in
    /// memory if enough memory is free.
    package static let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"

    /// Makes a temporary folder, which is removed with this object. By default, its path is short enough for `ipc://`
    /// endpoints.
    package init(in parent: String = Folder.parent) throws {
        isRemovedWithObject = true
        path = "\(parent)/belfry-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    /// A folder that the caller made and removes.
    package init(existing path: String) { (self.path, isRemovedWithObject) = (path, false) }

    deinit {
        guard isRemovedWithObject else { return }
        do { try FileManager.default.removeItem(atPath: path) } catch {
            // The system clears its temporary folder later.
        }
    }

    package func file(_ name: String) -> String { path + "/" + name }

    @discardableResult
    package func write(_ text: String, to name: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: file(name)))
        return file(name)
    }

    /// The lines of a file; empty if there is no such file.
    package func lines(of name: String) throws -> [String] {
        guard FileManager.default.fileExists(atPath: file(name)) else { return [] }
        let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: file(name))), as: UTF8.self)
        return text.split(separator: "\n").map(String.init)
    }
}
