import EventLog
import StageTool
import Synchronization

/// The indexes beside logs. Each index is updated when it is first used. Two threads must not use
/// this object at the same time.
final class LogIndexes {
    private let usesFiles: Bool
    private let progress = IndexProgress()
    private var indexes: [String: LogIndex] = [:]

    /// - Parameter usesFiles: False to ignore index files and to make the indexes in memory.
    init(usesFiles: Bool) { self.usesFiles = usesFiles }

    func index(of log: String) throws -> LogIndex {
        if let index = indexes[log] { return index }
        let index = try LogIndex(directory: log, scheme: .trace, usesFiles: usesFiles)
        defer { progress.end() }
        try index.update(progress: progress.report(LogPlace.name(ofLogAt: log)))
        indexes[log] = index
        return index
    }
}

/// Shows on a terminal how much of a log is indexed.
final class IndexProgress: Sendable {
    private let line = Mutex<ProgressLine?>(nil)

    func report(_ log: String) -> @Sendable (LogIndex.Progress) -> Void {
        { [self] progress in
            line.withLock { line in
                if line == nil { line = ProgressLine(after: .milliseconds(500)) }
                line?.show(IndexProgress.text(log, progress))
            }
        }
    }

    static func text(_ log: String, _ progress: LogIndex.Progress) -> String {
        let percent = progress.bytes == 0 ? 100 : min(100, Int(progress.bytesDone / max(progress.bytes / 100, 1)))
        return "indexing \(log) … \(percent) %"
    }

    func end() {
        line.withLock { line in
            line?.clear()
            line = nil
        }
    }
}
