import Glibc

/// A log's folder and the names in it. See ``BatchFormat``.
struct LogDirectory: Sendable {
    let path: String
    var calls = FileCalls.system

    var lockPath: String { path + "/lock" }
    var manifestPath: String { path + "/log.json" }

    func segmentPath(_ first: UInt64) -> String { "\(path)/\(String(first, digits: LogDirectory.digits)).log" }

    /// The first sequences of all segments, in order. Empty if there is no such folder.
    func segments() throws(EventLogError) -> [UInt64] {
        try LogDirectory.entries(of: path).compactMap(LogDirectory.firstSequence(ofFile:)).sorted()
    }

    /// Makes the folder and its parents, durably.
    ///
    /// - Parameter mode: The mode of new folders; nil gives each folder the mode of its parent.
    func create(_ mode: DataMode? = nil) throws(EventLogError) {
        var parent = path.hasPrefix("/") ? "/" : "."
        var current = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            current += "/" + part
            if uninterrupted({ unsafe calls.makeFolder(current) }) == 0 {
                (mode ?? DataMode(of: parent)).setFolderMode(current)
                try LogDirectory(path: parent, calls: calls).synchronize()
            } else if errno != EEXIST {
                throw .lastFailure("create", current)
            }
            parent = current
        }
    }

    /// Makes the names of the files in the folder durable.
    func synchronize() throws(EventLogError) {
        try OpenFile(path, O_RDONLY | O_DIRECTORY, calls: calls).synchronize(calls)
    }

    /// The names in a folder, without names that begin with a dot. Empty if there is no such folder.
    static func entries(of path: String) throws(EventLogError) -> [String] {
        guard let folder = unsafe opendir(path) else {
            if errno == ENOENT { return [] }
            throw .lastFailure("list", path)
        }
        defer { unsafe closedir(folder) }
        var names: [String] = []
        errno = 0
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
            errno = 0
        }
        guard errno == 0 else { throw .lastFailure("list", path) }
        return names
    }

    private static let digits = 20

    private static func firstSequence(ofFile name: String) -> UInt64? {
        let stem = name.dropLast(".log".count)
        guard name.hasSuffix(".log"), stem.utf8.count == digits, stem.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return UInt64(stem)
    }
}
