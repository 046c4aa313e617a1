import EventLog
import Foundation
import PipelineRuntime

/// The folder for the logs of `belfry run`: temporary, or one that the user named.
struct LogsFolder {
    /// The pipeline's data folder. It is temporary even if the user named a folder for the logs, because the data
    /// folder may contain sockets, and a socket needs a short path.
    let data: String

    /// - Parameters:
    ///   - userFolder: The folder in which the logs stay after the run. It must not contain earlier logs. Nil for
    ///     temporary logs.
    ///   - mode: The mode of the user's folder, if that folder is made.
    /// - Throws: ``ToolFailure`` with status 73 if a folder cannot be made or contains logs, and with 74 if a folder
    ///   cannot be written.
    init(keepingLogsIn userFolder: String?, mode: DataMode) throws {
        data = try LogsFolder.makeTemporary()
        guard let userFolder else { return }
        do {
            try LogsFolder.link(data + "/logs", to: userFolder, mode)
        } catch {
            remove()
            throw error
        }
    }

    /// Removes the temporary folder. Logs in the user's folder stay.
    func remove() {
        do { try FileManager.default.removeItem(atPath: data) } catch {
            StandardError.write("cannot remove \(data): \(error.localizedDescription)")
        }
    }

    private static func makeTemporary() throws(ToolFailure) -> String {
        let parent = ProcessInfo.processInfo.environment["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
        var template = Array("\(parent)/belfry-run-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            let reason = String(cString: strerror(errno))
            throw ToolFailure(
                .cannotCreate, "cannot make a folder in \(parent): \(reason); set TMPDIR to another folder")
        }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func link(_ path: String, to userFolder: String, _ mode: DataMode) throws {
        let isAbsolute = userFolder.hasPrefix("/")
        let folder = isAbsolute ? userFolder : FileManager.default.currentDirectoryPath + "/" + userFolder
        try DataFolder.prepare(folder, mode)
        guard try EventLogs.list(in: folder).isEmpty else {
            throw ToolFailure(
                .cannotCreate, "\(userFolder) contains logs already; name an empty folder, or remove the logs")
        }
        guard symlink(folder, path) == 0 else {
            throw ToolFailure(.cannotCreate, "cannot make \(path): \(String(cString: strerror(errno)))")
        }
    }
}
