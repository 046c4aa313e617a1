import Foundation
import Inspect

/// Checks whether logs and snapshots can be written, and who can read them.
struct DataCheck: DoctorCheck {
    let name = "data"

    /// Less free space than this is a warning, because one segment or snapshot may need as much.
    static let warningBytes: UInt64 = 1 << 30
    /// Less free space than this is an error.
    static let errorBytes: UInt64 = 64 << 20

    func findings(in target: DoctorTarget) throws -> [Finding] {
        guard let data = target.data else { return [] }
        if target.logs == nil, let file = target.file, let error = DataFolder.error(in: file) {
            return [FileCheck.finding(.error, "data.not_writable", error)]
        }
        let folder = Self.existing(data)
        let exists = folder == data
        guard access(folder, W_OK | X_OK) == 0 else {
            let reason = String(cString: strerror(errno))
            return [
                Finding(
                    .error, "data.not_writable", "\(folder) cannot be written: \(reason)",
                    fix:
                        "allow the user that runs the stages to write to it, or set data: in the file to another folder",
                    ["folder": .text(folder)])
            ]
        }
        var disk = statvfs()
        guard statvfs(folder, &disk) == 0 else {
            let reason = String(cString: strerror(errno))
            throw ToolFailure(.inputOutput, "cannot determine the free space of \(folder): \(reason)")
        }
        let free = UInt64(disk.f_bavail) * UInt64(disk.f_frsize)
        let files = disk.f_files == 0 ? nil : UInt64(disk.f_favail)
        let room = Self.finding(exists ? folder : "\(folder) (for \(data), which does not exist yet)", free, files)
        guard exists, let mode = target.file?.dataMode else { return [room] }
        return [room] + [ExposedFiles(in: folder, mode).finding(in: folder)].compactMap(\.self)
    }

    /// - Parameter files: How many more files the disk allows; nil if it does not limit their number.
    static func finding(_ folder: String, _ free: UInt64, _ files: UInt64?) -> Finding {
        let details: KeyValuePairs<String, ReportValue> = ["freeBytes": .count(free)]
        guard free < warningBytes else {
            if let files, files < 1_000 {
                return Finding(
                    .warning, "data.few_files", "\(folder): the disk allows only \(files.of("more file"))",
                    fix: "remove files", details)
            }
            return Finding(.ok, "data.writable", "\(folder) can be written, \(byteText(free)) are free", details)
        }
        return Finding(
            free < errorBytes ? .error : .warning, "data.low", "\(folder): only \(byteText(free)) are free",
            fix:
                "free some space, or limit the size of the logs with log: { retention: { bytes: … } }; when the disk is "
                + "full, stages stop accepting input until there is space", details)
    }

    /// The folder itself, or the nearest existing folder above it.
    private static func existing(_ folder: String) -> String {
        var url = URL(fileURLWithPath: folder)
        while !LogPlace.isFolder(url.path), url.path != "/" { url.deleteLastPathComponent() }
        return LogPlace.isFolder(folder) ? folder : url.path
    }
}
