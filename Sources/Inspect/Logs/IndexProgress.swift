import EventLog
import Glibc
import PipelineRuntime
import Synchronization
import Time

/// Says on standard error how far an index has come, where someone may be waiting at a terminal.
final class IndexProgress: Sendable {
    private struct State {
        var begun: ContinuousClock.Instant?
        var shown: ContinuousClock.Instant?
    }

    /// Shorter work shows nothing.
    private static let patience = Duration.milliseconds(500)
    private static let pause = Duration.milliseconds(200)

    private let isShown = StandardError.isTerminal
    private let state = Mutex(State())

    func report(_ log: String) -> @Sendable (LogIndex.Progress) -> Void {
        { [self] progress in if isShown { show(IndexProgress.text(log, progress)) } }
    }

    /// Takes it off the line.
    func end() {
        state.withLock { state in
            if state.shown != nil { StandardError.write(unended: "\r\u{1B}[K") }
            state = State()
        }
    }

    static func text(_ log: String, _ progress: LogIndex.Progress) -> String {
        let percent = progress.bytes == 0 ? 100 : min(100, Int(progress.bytesDone / max(progress.bytes / 100, 1)))
        return "indexing \(log) … \(percent) %"
    }

    private func show(_ text: String) {
        state.withLock { state in
            let now = ContinuousClock.now
            let begun = state.begun ?? now
            state.begun = begun
            guard now - begun >= IndexProgress.patience, state.shown.map({ now - $0 >= IndexProgress.pause }) ?? true
            else { return }
            state.shown = now
            StandardError.write(unended: "\r\u{1B}[K" + text)
        }
    }
}
