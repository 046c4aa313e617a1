import EventLog
import Glibc
import PipelineRuntime

/// The folders and files of a data folder that others than ``DataMode`` says may use. The producers' secret is its owner's
/// alone in every mode.
struct WideFiles {
    struct File: Hashable {
        let path: String
        let mode: UInt32

        var isSecret: Bool { WideFiles.isSecret(path) }

        /// As `chmod` takes it.
        var modeText: String {
            let digits = String(mode, radix: 8)
            return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        }
    }

    private let wanted: DataMode
    private(set) var files: [File] = []
    private var seen: Set<[UInt64]> = []

    init(below folder: String, _ wanted: DataMode) {
        self.wanted = wanted
        look(at: folder)
    }

    /// A link counts as what it leads to: logs may lie on another disk.
    private mutating func look(at path: String) {
        var status = stat()
        guard stat(path, &status) == 0, seen.insert([UInt64(status.st_dev), UInt64(status.st_ino)]).inserted else {
            return
        }
        let wanted = Self.isSecret(path) ? .owner : wanted
        if wanted.isExceeded(by: status.st_mode) { files.append(File(path: path, mode: status.st_mode & 0o777)) }
        guard status.st_mode & S_IFMT == S_IFDIR, let folder = opendir(path) else { return }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        for name in names.sorted() { look(at: path + "/" + name) }
    }
}

extension WideFiles {
    private static let listedMax = 5

    private static func isSecret(_ path: String) -> Bool { path.hasSuffix("/" + ProducerSecret.fileName) }

    /// The secret has a command of its own: what the mode gives to others must not stay on it.
    private func fix(in folder: String) -> String {
        let others = files.filter { !$0.isSecret }
        let secrets = files.filter(\.isSecret).map { "chmod 600 \($0.path)" }
        let all =
            "chmod " + (others.count == 1 ? "" : "-R ") + wanted.prohibition
            + " " + (others.count == 1 ? others[0].path : folder)
        return ((others.isEmpty ? [] : [all]) + secrets).joined(separator: " && ")
    }

    /// Nil where there is none.
    func finding(in folder: String) -> Finding? {
        let files = files.filter(\.isSecret) + files.filter { !$0.isSecret }
        guard let first = files.first else { return nil }
        let isAlone = files.count == 1
        let others = isAlone ? "" : ", and so are \((files.count - 1).grouped) more below \(folder)"
        let more = files.count > Self.listedMax ? ["…"] : []
        return Finding(
            .warning, "data.wide",
            "\(first.path) is open to others than its owner (mode \(first.modeText))\(others)",
            lines: isAlone ? [] : files.prefix(Self.listedMax).map { "\($0.modeText) \($0.path)" } + more,
            fix: fix(in: folder)
                + " (records and device tokens are in it; `data: {mode: …}` in the pipeline file says who may read them)",
            ["files": .list(files.map { .object(["path": .text($0.path), "mode": .text($0.modeText)]) })])
    }
}
