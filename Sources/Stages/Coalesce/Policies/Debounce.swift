import PipelineKit
import Time

/// Holds each notification until no newer one has come for a window, or until the maximum delay has passed.
package struct Debounce: CoalescingPolicy {
    package static let kind = "debounce"
    private let window: Duration

    package init(_ settings: NoSettings, times: CoalescingTimes) { window = times.window }

    package func due(_ arrival: CoalescingArrival) -> Instant { arrival.now.advanced(by: window) }
}
