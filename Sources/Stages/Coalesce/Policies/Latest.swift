import PipelineKit
import Time

/// The first leaves at once. What comes within a window after one has left waits for the window's end, and the newest
/// of it leaves then. So there is one notification of a key in each window at most, and none waits longer than one.
package struct Latest: CoalescingPolicy {
    package static let kind = "latest"
    private let window: Duration

    package init(_ settings: NoSettings, times: CoalescingTimes) { window = times.window }

    package var memory: Duration { window }

    package func due(_ arrival: CoalescingArrival) -> Instant {
        arrival.held?.due ?? arrival.lastLeft?.advanced(by: window) ?? arrival.now
    }
}
