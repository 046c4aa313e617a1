/// Paths as text, without asking the file system: a pipeline file means the same wherever it is read.
enum FilePathText {
    /// `path` as seen from `folder`, without `.` and with `..` taken back where there is something to take.
    static func join(_ folder: String, _ path: String) -> String {
        let whole = path.hasPrefix("/") ? path : "\(folder)/\(path)"
        var parts: [Substring] = []
        for part in whole.split(separator: "/") where part != "." {
            if part == "..", let last = parts.last, last != ".." {
                parts.removeLast()
            } else if part != ".." || !whole.hasPrefix("/") {
                parts.append(part)
            }
        }
        let joined = parts.joined(separator: "/")
        return whole.hasPrefix("/") ? "/\(joined)" : joined.isEmpty ? "." : joined
    }

    static func folder(of file: String) -> String {
        guard let slash = file.lastIndex(of: "/") else { return "." }
        return slash == file.startIndex ? "/" : String(file[..<slash])
    }
}
