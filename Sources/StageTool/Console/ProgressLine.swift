import PipelineRuntime

/// How far a command has come, in one line on a terminal that stays in place; only where the work takes a while.
package struct ProgressLine: Sendable {
    private static let pause = Duration.milliseconds(250)

    private let isShown: Bool
    private var next: ContinuousClock.Instant
    private var isOnLine = false

    /// - Parameter patience: Work that is done sooner shows nothing.
    package init(after patience: Duration = .seconds(1), isShown: Bool = StandardError.isTerminal) {
        self.isShown = isShown
        next = .now.advanced(by: patience)
    }

    /// Whether a new text would be shown.
    var isDue: Bool { isShown && ContinuousClock.now >= next }

    package mutating func show(_ text: String) {
        guard isDue else { return }
        StandardError.write(unended: "\r\u{1B}[K" + text)
        isOnLine = true
        next = .now.advanced(by: ProgressLine.pause)
    }

    /// Removes the line.
    package mutating func clear() {
        if isOnLine { StandardError.write(unended: "\r\u{1B}[K") }
        isOnLine = false
    }
}
