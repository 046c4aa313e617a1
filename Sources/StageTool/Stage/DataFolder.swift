import EventLog
import Glibc
import PipelineRuntime

/// The folder that a pipeline keeps its logs and sockets in.
package enum DataFolder {
    /// Makes the folder if it is missing, and checks that it can be written.
    ///
    /// - Throws: ``ToolFailure`` with status 73 if the folder cannot be made or the path is not a folder, and with 74
    ///   if the folder cannot be written.
    package static func prepare(_ path: String, _ mode: DataMode = .owner) throws {
        do { try SocketFiles.makeFolder(path, mode) } catch {
            throw ToolFailure(.cannotCreate, "\(error); choose another data folder, or change its owner or mode")
        }
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw ToolFailure(.cannotCreate, "\(path) is not a folder; remove it, or choose another data folder")
        }
        guard access(path, W_OK | X_OK) == 0 else {
            let reason = String(cString: strerror(errno))
            throw ToolFailure(
                .inputOutput,
                "cannot write in \(path): \(reason); choose another data folder, or change its owner or mode")
        }
    }
}
