import Glibc
import PipelineRuntime

/// How far a command has come that reads whole logs: on a terminal, and only where it takes a while.
package struct ReadingProgress {
    private static let patience = Duration.seconds(1)
    private static let pause = Duration.milliseconds(250)

    private let total: UInt64
    private let isShown: Bool
    private let start = ContinuousClock.now
    private var next: ContinuousClock.Instant
    private var bytes: UInt64 = 0
    private var isOnLine = false

    /// - Parameter total: The bytes to read.
    package init(total: UInt64, isShown: Bool = StandardError.isTerminal) {
        self.total = total
        self.isShown = isShown
        next = start.advanced(by: ReadingProgress.patience)
    }

    package mutating func add(_ more: UInt64) {
        bytes += more
        guard isShown, ContinuousClock.now >= next else { return }
        StandardError.write(unended: "\r\u{1B}[K" + text(after: ContinuousClock.now - start))
        isOnLine = true
        next = ContinuousClock.now.advanced(by: ReadingProgress.pause)
    }

    /// Takes it off the line.
    package mutating func end() {
        if isOnLine { StandardError.write(unended: "\r\u{1B}[K") }
        isOnLine = false
    }

    func text(after elapsed: Duration) -> String {
        let seconds = elapsed / .seconds(1)
        let rate = seconds > 0 ? Double(bytes) / seconds : 0
        let share = total > 0 ? min(bytes * 100 / total, 100) : 100
        let left = rate > 0 ? Double(total - min(bytes, total)) / rate : 0
        return "\(share)% of \(byteText(total)), \(byteText(UInt64(rate)))/s, \(Int(left.rounded(.up))) s left"
    }
}
