import EventLog
import Glibc
import PipelineKit
import PipelineRuntime

/// The folder that a pipeline keeps its logs and sockets in.
package enum DataFolder {
    /// Makes the folder if it is missing, and checks that it can be written.
    ///
    /// - Throws: ``ToolFailure`` with status 73 if the folder cannot be made or the path is not a folder, and with 74
    ///   if the folder cannot be written.
    package static func prepare(_ path: String, _ mode: DataMode = .owner) throws {
        if let obstacle = obstacle(to: path) {
            throw ToolFailure(.cannotCreate, "\(obstacle) is not a folder; \(hint)")
        }
        do { try SocketFiles.makeFolder(path, mode) } catch {
            throw ToolFailure(
                .cannotCreate,
                "\(error); change the owner or mode of the folder above it, or choose another data folder")
        }
        guard access(path, W_OK | X_OK) == 0 else {
            let reason = String(cString: strerror(errno))
            throw ToolFailure(
                .inputOutput,
                "cannot write in \(path): \(reason); change its owner or mode, or choose another data folder")
        }
    }

    /// The error if a file has the path of the pipeline's data folder, or of a folder above it.
    package static func error(in file: PipelineFile) -> SettingsError? {
        obstacle(to: file.data).map { file.settings.fail("data", "\($0) is not a folder", hint: hint) }
    }

    private static let hint = "remove it, or choose another data folder"

    private static func obstacle(to path: String) -> String? {
        var (path, status) = (path[...], stat())
        while stat(String(path), &status) != 0 {
            // A symbolic link that leads nowhere.
            if lstat(String(path), &status) == 0 { return String(path) }
            guard let slash = path.lastIndex(of: "/") else { return nil }
            path = path[..<slash]
        }
        return status.st_mode & S_IFMT == S_IFDIR ? nil : String(path)
    }
}
