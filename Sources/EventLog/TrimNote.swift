import Glibc

/// The trim note: an empty file `<first sequence>.first` in a log's folder. It says that the log may begin with that
/// sequence: retention removed the segments before it, or a repair accepted that they are missing. If the log begins
/// with a later sequence, segments are missing.
///
/// The file is empty so that it needs little room: retention is needed most on a full disk.
extension LogDirectory {
    private static let trimSuffix = ".first"

    /// The trim note with the highest sequence; nil if there is no note.
    private func notedFirst() throws(EventLogError) -> (sequence: UInt64, path: String)? {
        try LogDirectory.entries(of: path).filter { $0.hasSuffix(LogDirectory.trimSuffix) }
            .compactMap { name in UInt64(name.dropLast(LogDirectory.trimSuffix.count)).map { ($0, "\(path)/\(name)") } }
            .max { $0.0 < $1.0 }
    }

    /// Notes durably that the log may begin with `first`. Call it before removing older segments. If the disk is too
    /// full for the note, call it again after the first removal.
    func noteTrim(to first: UInt64) throws(EventLogError) {
        let target = String(segmentPath(first).dropLast(".log".count)) + LogDirectory.trimSuffix
        if let noted = try notedFirst() {
            guard noted.sequence < first else { return }
            guard uninterrupted({ unsafe calls.rename(noted.path, target) }) == 0 else {
                throw .lastFailure("rename", noted.path)
            }
        } else {
            _ = try OpenFile(target, O_WRONLY | O_CREAT, calls: calls)
        }
        try synchronize()
    }

    /// The missing sequences at the beginning that no trim note explains; nil if there are no such sequences.
    ///
    /// The range ends at `UInt64.max` if all segments are missing; the settings file proves that segments existed.
    ///
    /// - Parameter segments: List them before this call. Retention writes a note before it removes segments. So if the
    ///   list lacks segments that retention removed, this call finds the note about them.
    func missingStart(_ segments: [UInt64]) throws(EventLogError) -> ClosedRange<UInt64>? {
        guard let first = segments.first else {
            return try OpenFile.ifPresent(SettingsFile.path(in: path)) == nil ? nil : 1...(.max)
        }
        guard first > 1 else { return nil }
        let noted = try notedFirst()?.sequence ?? 1
        return noted < first ? noted...(first - 1) : nil
    }
}

extension EventLogs {
    /// The sequences at a log's beginning that are missing, although retention did not remove them; nil if there are no
    /// such sequences.
    ///
    /// - Parameter directory: The log's own folder.
    package static func missingStart(directory: String) throws(EventLogError) -> ClosedRange<UInt64>? {
        let log = LogDirectory(path: directory)
        return try log.missingStart(try log.segments())
    }

    /// The message about missing sequences.
    package static func reason(forMissing range: ClosedRange<UInt64>) -> String {
        if range.upperBound == .max { return "all segments are missing, although retention never removes the last one" }
        return "sequences \(range.lowerBound) to \(range.upperBound) are missing, but retention did not remove them"
    }
}
