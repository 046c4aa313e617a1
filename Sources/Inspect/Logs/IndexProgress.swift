import EventLog
import StageTool
import Synchronization

/// How far the index of a log has come.
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

    func end() {
        line.withLock { line in
            line?.clear()
            line = nil
        }
    }

    static func text(_ log: String, _ progress: LogIndex.Progress) -> String {
        let percent = progress.bytes == 0 ? 100 : min(100, Int(progress.bytesDone / max(progress.bytes / 100, 1)))
        return "indexing \(log) … \(percent) %"
    }
}
