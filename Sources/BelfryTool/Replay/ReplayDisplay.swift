import Glibc
import PipelineRuntime
import Replay

/// Shows the progress of a replay on standard error: one line that overwrites itself on a terminal, otherwise a line
/// every few seconds.
struct ReplayDisplay {
    private let progress: [StageProgress]
    private let started = ContinuousClock.now
    private let more: @Sendable () -> String
    private let isTerminal = StandardError.isTerminal

    private init(_ progress: [StageProgress], _ more: @escaping @Sendable () -> String) {
        (self.progress, self.more) = (progress, more)
    }

    /// Shows progress while `work` runs.
    static func showing<Result: Sendable>(
        _ progress: [StageProgress], more: @escaping @Sendable () -> String = { "" },
        _ work: @Sendable () async throws -> Result
    ) async throws -> Result {
        let display = ReplayDisplay(progress, more)
        let showing = Task.detached { await display.run() }
        defer {
            showing.cancel()
            display.clear()
        }
        return try await work()
    }

    private func run() async {
        let pause = Duration.milliseconds(isTerminal ? 500 : 5_000)
        while !Task.isCancelled {
            do { try await Task.sleep(for: pause) } catch { return }
            show()
        }
    }

    private func show() {
        guard isTerminal else { return StandardError.write(line) }
        StandardError.write(unended: "\r\u{1B}[K" + line)
    }

    private func clear() { if isTerminal { StandardError.write(unended: "\r\u{1B}[K") } }

    var line: String {
        let seconds = (ContinuousClock.now - started) / .seconds(1)
        let (bytes, total) = (progress.reduce(0) { $0 + $1.bytes }, progress.reduce(0) { $0 + $1.bytesTotal })
        let events = progress.reduce(0) { $0 + $1.events }
        return ReplayDisplay.text(events: events, bytes: bytes, of: total, seconds: seconds) + more()
    }

    static func text(events: UInt64, bytes: UInt64, of total: UInt64, seconds: Double) -> String {
        let share = total == 0 ? 1 : min(1, Double(bytes) / Double(total))
        let rate = seconds > 0 ? Double(events) / seconds : 0
        let left = share > 0.01 ? ", \(Duration.seconds(Int(seconds / share * (1 - share)) + 1).text) left" : ""
        return "\(Int(share * 100)) %, \(events.of("event")), \(rate.text(decimals: 0)) a second\(left)"
    }
}
