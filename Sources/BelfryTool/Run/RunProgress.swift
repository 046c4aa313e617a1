import Glibc
import PipelineRuntime
import Synchronization

/// How far a long run has come, on a terminal.
final class RunProgress: Sendable {
    private static let pause = Duration.milliseconds(250)
    /// Shorter runs show nothing.
    private static let patience = Duration.seconds(1)

    private let process: PipelineProcess
    private let writer: PushWriter
    private let isShown = StandardError.isTerminal && !StandardOutput.isTerminal
    private let state = Mutex((isOnLine: false, hasEnded: false))

    init(_ process: PipelineProcess, _ writer: PushWriter) {
        self.process = process
        self.writer = writer
    }

    /// Shows progress until it is cancelled.
    func run() async {
        guard isShown else { return }
        var pause = RunProgress.patience
        while !Task.isCancelled {
            do { try await Task.sleep(for: pause) } catch { return }
            pause = RunProgress.pause
            show()
        }
    }

    /// Takes it off the line, for a message or because it is over.
    func clear() {
        state.withLock { state in
            if state.isOnLine { StandardError.write(unended: "\r\u{1B}[K") }
            state.isOnLine = false
        }
    }

    func end() {
        clear()
        state.withLock { $0.hasEnded = true }
    }

    private func show() {
        let lines = process.source.control.report.eventsIn
        let text = "\r\u{1B}[K\(lines.of("line")), \(writer.pushes.of("push"))"
        state.withLock { state in
            guard !state.hasEnded else { return }
            StandardError.write(unended: text)
            state.isOnLine = true
        }
    }
}
