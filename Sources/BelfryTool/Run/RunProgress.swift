import PipelineRuntime
import Synchronization

/// Shows the progress of a long run on a terminal, unless the pushes go to a terminal too.
final class RunProgress: Sendable {
    private static let pause = Duration.milliseconds(250)

    private let process: PipelineProcess
    private let writer: PushWriter
    private let isShown = StandardError.isTerminal && !StandardOutput.isTerminal
    /// Nil after the end of the run.
    private let line: Mutex<ProgressLine?>

    init(_ process: PipelineProcess, _ writer: PushWriter) {
        (self.process, self.writer) = (process, writer)
        line = Mutex(ProgressLine(isShown: isShown))
    }

    func run() async {
        while isShown, !Task.isCancelled {
            do { try await Task.sleep(for: RunProgress.pause) } catch { return }
            let text = "\(process.source.control.report.eventsIn.of("line")), \(writer.pushes.of("push"))"
            line.withLock { $0?.show(text) }
        }
    }

    /// Clears the progress line, so that a message can be printed.
    func clear() { line.withLock { $0?.clear() } }

    func end() {
        line.withLock { line in
            line?.clear()
            line = nil
        }
    }
}
