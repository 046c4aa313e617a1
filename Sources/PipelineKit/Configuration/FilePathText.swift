/// Operations on paths as text, independent of the file system.
enum FilePathText {
    /// The path that `path` means in `folder`, without components `.` and, where possible, without components `..`. The
    /// result is `.` if no component remains of a relative path. An absolute `path` does not depend on `folder`.
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
