import Glibc

/// An empty file `<first sequence>.first` in a log's folder: what was before was removed on purpose. So a segment that
/// is missing for another reason is never taken for one that retention removed.
///
/// There is nothing in it, so that it can be made on a disk that is full, which is when retention matters most.
extension LogDirectory {
    private static let trimSuffix = ".first"

    /// Where the log begins, as far as it was shortened on purpose.
    private func notedFirst() throws(EventLogError) -> (sequence: UInt64, path: String)? {
        try LogDirectory.entries(of: path).filter { $0.hasSuffix(LogDirectory.trimSuffix) }
            .compactMap { name in UInt64(name.dropLast(LogDirectory.trimSuffix.count)).map { ($0, "\(path)/\(name)") } }
            .max { $0.0 < $1.0 }
    }

    /// Puts on record that the log begins with a sequence, durably. To be called before what is older goes.
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

    /// The sequences at the beginning that are missing though nobody removed them on purpose.
    ///
    /// Up to the highest there is where all segments are: settings are written only when there is one.
    ///
    /// - Parameter segments: Listed before, so that what is removed in the meantime is on record.
    func missingStart(_ segments: [UInt64]) throws(EventLogError) -> ClosedRange<UInt64>? {
        guard let first = segments.first else {
            return try OpenFile.ifPresent(SettingsFile.path(in: path)) == nil ? nil : 1...(.max)
        }
        guard first > 1 else { return nil }
        let noted = try notedFirst()?.sequence ?? 1
        return noted < first ? noted...(first - 1) : nil
    }

    /// Why it is a problem.
    static func reason(forMissing range: ClosedRange<UInt64>) -> String {
        if range.upperBound == .max { return "all segments are missing, and no retention removes the last" }
        return "sequences \(range.lowerBound) to \(range.upperBound) are missing, and no retention removed them"
    }
}

extension EventLogs {
    /// The sequences at a log's beginning that are missing though no retention removed them; nil where it is whole.
    ///
    /// - Parameter directory: The log's own folder.
    package static func missingStart(directory: String) throws(EventLogError) -> ClosedRange<UInt64>? {
        let log = LogDirectory(path: directory)
        return try log.missingStart(try log.segments())
    }

    /// What is said of such sequences.
    package static func reason(forMissing range: ClosedRange<UInt64>) -> String {
        LogDirectory.reason(forMissing: range)
    }
}
