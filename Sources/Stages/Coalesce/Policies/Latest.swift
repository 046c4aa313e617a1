import PipelineKit
import Time

/// Lets the first notification leave at once and opens a window. Of the notifications that come in the window, only
/// the newest leaves, at the end of the window. So at most one notification of each key leaves per window, and no
/// notification waits longer than a window.
package struct Latest: CoalescingPolicy {
    package static let kind = "latest"
    private let window: Duration

    package init(_ settings: NoSettings, times: CoalescingTimes) { window = times.window }

    package var memory: Duration { window }

    package func due(_ arrival: CoalescingArrival) -> Instant {
        arrival.held?.due ?? arrival.lastLeft?.advanced(by: window) ?? arrival.now
    }
}
