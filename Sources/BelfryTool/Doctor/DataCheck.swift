import Foundation
import Inspect

/// Whether logs and snapshots can be written, and by whom they can be read.
struct DataCheck: DoctorCheck {
    let name = "data"

    /// Below this a full disk is near: a segment and a snapshot may each take as much.
    static let lowBytes: UInt64 = 1 << 30
    /// Below this nothing is sure to be written.
    static let emptyBytes: UInt64 = 64 << 20

    func findings(in patient: Patient) throws -> [Finding] {
        guard let data = patient.data else { return [] }
        let folder = Self.existing(data)
        let isMade = folder == data
        guard access(folder, W_OK | X_OK) == 0 else {
            let reason = String(cString: strerror(errno))
            return [
                Finding(
                    .error, "data.not_writable", "\(folder) cannot be written: \(reason)",
                    fix: "let the user that runs the stages write it, or name another folder with data: in the file",
                    ["folder": .text(folder)])
            ]
        }
        var disk = statvfs()
        guard statvfs(folder, &disk) == 0 else {
            throw ToolFailure(.inputOutput, "statvfs of \(folder): \(String(cString: strerror(errno)))")
        }
        let free = UInt64(disk.f_bavail) * UInt64(disk.f_frsize)
        let files = disk.f_files == 0 ? nil : UInt64(disk.f_favail)
        let room = Self.finding(isMade ? folder : "\(folder) (for \(data), which is not there yet)", free, files)
        guard isMade, let mode = patient.file?.dataMode else { return [room] }
        return [room] + [WideFiles(below: folder, mode).finding(in: folder)].compactMap(\.self)
    }

    /// - Parameter files: How many more there may be; nil where there is no limit.
    static func finding(_ folder: String, _ free: UInt64, _ files: UInt64?) -> Finding {
        let details: KeyValuePairs<String, ReportValue> = ["freeBytes": .count(free)]
        if let files, files < 1_000 {
            return Finding(
                .warning, "data.few_files", "\(folder): room for \(files.of("file")) more", fix: "remove files",
                details)
        }
        guard free < lowBytes else {
            return Finding(.ok, "data.writable", "\(folder) can be written, \(byteText(free)) are free", details)
        }
        return Finding(
            free < emptyBytes ? .error : .warning, "data.low", "\(folder): only \(byteText(free)) are free",
            fix: "make room, or let the logs go earlier with log: { retention: { bytes: … } }; stages with a full disk "
                + "take nothing in until there is room", details)
    }

    /// A folder, or the one in which it would be made.
    private static func existing(_ folder: String) -> String {
        var url = URL(fileURLWithPath: folder)
        while !LogPlace.isFolder(url.path), url.path != "/" { url.deleteLastPathComponent() }
        return LogPlace.isFolder(folder) ? folder : url.path
    }
}
