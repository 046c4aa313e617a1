import PipelineKit
import Time

/// Each notification that leaves opens a window for its key. A notification that comes outside a window leaves at once.
/// Of the notifications that come in a window, only the newest leaves, at the end of the window. So no notification
/// waits longer than a window. At most one notification of each key leaves per window, unless a limit makes a
/// notification leave early.
package struct Latest: CoalescingPolicy {
    package static let kind = "latest"
    private let window: Duration

    package init(_ settings: NoSettings, times: CoalescingTimes) { window = times.window }

    package var memory: Duration { window }

    package func due(_ arrival: CoalescingArrival) -> Instant {
        arrival.held?.due ?? arrival.lastLeft?.advanced(by: window) ?? arrival.now
    }
}
