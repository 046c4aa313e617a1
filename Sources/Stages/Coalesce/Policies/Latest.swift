import PipelineKit
import Time

/// Lets the first notification leave at once, which opens a window. Of those that come within the window only the newest
/// leaves, at its end. So each key has at most one notification per window, and none waits longer than a window.
package struct Latest: CoalescingPolicy {
    package static let kind = "latest"
    private let window: Duration

    package init(_ settings: NoSettings, times: CoalescingTimes) { window = times.window }

    package var memory: Duration { window }

    package func due(_ arrival: CoalescingArrival) -> Instant {
        arrival.held?.due ?? arrival.lastLeft?.advanced(by: window) ?? arrival.now
    }
}
