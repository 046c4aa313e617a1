import PipelineRuntime
import Synchronization

/// How far a long run has come, on a terminal.
final class RunProgress: Sendable {
    private static let pause = Duration.milliseconds(250)

    private let process: PipelineProcess
    private let writer: PushWriter
    private let isShown = StandardError.isTerminal && !StandardOutput.isTerminal
    /// Nil when the run has ended.
    private let line: Mutex<ProgressLine?>

    init(_ process: PipelineProcess, _ writer: PushWriter) {
        (self.process, self.writer) = (process, writer)
        line = Mutex(ProgressLine(isShown: isShown))
    }

    /// Shows progress until it is cancelled.
    func run() async {
        while isShown, !Task.isCancelled {
            do { try await Task.sleep(for: RunProgress.pause) } catch { return }
            let text = "\(process.source.control.report.eventsIn.of("line")), \(writer.pushes.of("push"))"
            line.withLock { $0?.show(text) }
        }
    }

    /// Takes it off the line, for a message.
    func clear() { line.withLock { $0?.clear() } }

    func end() {
        line.withLock { line in
            line?.clear()
            line = nil
        }
    }
}
