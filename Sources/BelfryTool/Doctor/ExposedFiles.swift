import EventLog
import Foundation
import PipelineRuntime

/// The files and folders of a data folder, and the data folder itself, if they have permissions that the pipeline's
/// ``DataMode`` does not allow. In every mode, only the owner may access the files with the producers' secret and with
/// the secret for tickets of assets.
struct ExposedFiles {
    struct File: Hashable {
        let path: String
        let mode: UInt32

        var isSecret: Bool { ExposedFiles.isSecret(path) }

        /// The mode in the form for `chmod`, such as `0640`.
        var modeText: String {
            let digits = String(mode, radix: 8)
            return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        }
    }

    private let wanted: DataMode
    private(set) var files: [File] = []
    /// The symbolic links in the data folder.
    private var links: [String] = []
    private var seen: Set<[UInt64]> = []

    init(in folder: String, _ wanted: DataMode) {
        self.wanted = wanted
        search(folder)
    }

    /// Follows symbolic links, because logs may be on another disk.
    private mutating func search(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0, seen.insert([UInt64(status.st_dev), UInt64(status.st_ino)]).inserted else {
            return
        }
        var own = stat()
        if lstat(path, &own) == 0, own.st_mode & S_IFMT == S_IFLNK { links.append(path) }
        let wanted = Self.isSecret(path) ? .owner : wanted
        if wanted.isExceeded(by: status.st_mode) { files.append(File(path: path, mode: status.st_mode & 0o777)) }
        guard status.st_mode & S_IFMT == S_IFDIR else { return }
        let names: [String]
        // A folder that cannot be read is not searched.
        do { names = try FileManager.default.contentsOfDirectory(atPath: path) } catch { return }
        for name in names.sorted() { search(path + "/" + name) }
    }
}

extension ExposedFiles {
    private static let listedMax = 5

    private static func isSecret(_ path: String) -> Bool {
        path.hasSuffix("/" + ProducerSecret.fileName) || path.hasSuffix("/assets/secret")
    }

    /// The commands that correct the modes. Each file with a secret needs its own command, since its mode is stricter.
    /// `chmod -R` follows only the links that it is given by name.
    private func fix(in folder: String) -> String {
        let others = files.filter { !$0.isSecret }
        let secrets = files.filter(\.isSecret).map { "chmod 600 \($0.path)" }
        let all =
            "chmod " + (others.count == 1 ? "" : "-R ") + wanted.chmodArgument
            + " " + (others.count == 1 ? others[0].path : ([folder] + links).joined(separator: " "))
        return ((others.isEmpty ? [] : [all]) + secrets).joined(separator: " && ")
    }

    /// The warning about the exposed files; nil if there are no exposed files.
    func finding(in folder: String) -> Finding? {
        let files = files.filter(\.isSecret) + files.filter { !$0.isSecret }
        guard let first = files.first else { return nil }
        let isAlone = files.count == 1
        let others = isAlone ? "" : "; so can \((files.count - 1).of("more item")) in \(folder)"
        let more = files.count > Self.listedMax ? ["…"] : []
        return Finding(
            .warning, "data.wide",
            "\(first.path) can be accessed by users who do not own it (mode \(first.modeText))\(others)",
            lines: isAlone ? [] : files.prefix(Self.listedMax).map { "\($0.modeText) \($0.path)" } + more,
            fix: fix(in: folder)
                + " (the data folder contains records and device tokens; `data: {mode: …}` in the pipeline file sets "
                + "who may read them)",
            ["files": .list(files.map { .object(["path": .text($0.path), "mode": .text($0.modeText)]) })])
    }
}
