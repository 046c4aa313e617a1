import PipelineRuntime

/// A line on a terminal that shows the progress of longer work and overwrites itself.
package struct ProgressLine: Sendable {
    private static let pause = Duration.milliseconds(250)

    private let isShown: Bool
    private var next: ContinuousClock.Instant
    private var hasText = false

    /// - Parameter delay: The line does not show the progress of work that is shorter than this delay.
    package init(after delay: Duration = .seconds(1), isShown: Bool = StandardError.isTerminal) {
        self.isShown = isShown
        next = .now.advanced(by: delay)
    }

    /// Whether ``show(_:)`` would show a text now.
    var isDue: Bool { isShown && ContinuousClock.now >= next }

    package mutating func show(_ text: String) {
        guard isDue else { return }
        StandardError.write(unended: "\r\u{1B}[K" + text)
        hasText = true
        next = .now.advanced(by: ProgressLine.pause)
    }

    package mutating func clear() {
        if hasText { StandardError.write(unended: "\r\u{1B}[K") }
        hasText = false
    }
}
