import PipelineRuntime

/// Shows the progress of a command that reads whole logs.
package struct ReadingProgress {
    private let total: UInt64
    private let start = ContinuousClock.now
    private var line: ProgressLine
    private var bytes: UInt64 = 0

    /// - Parameter total: The bytes to read.
    package init(total: UInt64, isShown: Bool = StandardError.isTerminal) {
        self.total = total
        line = ProgressLine(isShown: isShown)
    }

    package mutating func add(_ more: UInt64) {
        bytes += more
        guard line.isDue else { return }
        line.show(text(after: .now - start))
    }

    package mutating func end() { line.clear() }

    func text(after elapsed: Duration) -> String {
        let seconds = elapsed / .seconds(1)
        let rate = seconds > 0 ? Double(bytes) / seconds : 0
        let share = total > 0 ? min(bytes * 100 / total, 100) : 100
        let left = rate > 0 ? Double(total - min(bytes, total)) / rate : 0
        return "\(share)% of \(byteText(total)), \(byteText(UInt64(rate)))/s, \(Int(left.rounded(.up))) s left"
    }
}
