import Foundation
import PipelineRuntime

/// A temporary folder for the files of a bench.
final class ScratchFolder: Sendable {
    let path: String
    private let isKept: Bool

    /// - Parameter parent: The folder in which to make the new folder; nil for `TMPDIR`, or `/tmp`. The path must be
    ///   short, because some benches make sockets in the new folder.
    init(in parent: String?, isKept: Bool = false) throws {
        let parent = parent ?? ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
        var template = Array("\(parent)/belfry-bench-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw ToolFailure(.cannotCreate, "cannot make a folder in \(parent): \(String(cString: strerror(errno)))")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        self.isKept = isKept
    }

    /// Removes the folder, or prints its path if it is kept.
    func finish() {
        guard !isKept else { return StandardError.write("kept: \(path)") }
        do { try FileManager.default.removeItem(atPath: path) } catch {
            StandardError.write("cannot remove \(path): \(error.localizedDescription)")
        }
    }
}
