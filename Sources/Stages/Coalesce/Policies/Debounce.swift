import PipelineKit
import Time

/// Each notification waits until no newer one has come for a window, or the maximum delay is over.
public struct Debounce: CoalescingPolicy {
    public static let kind = "debounce"
    private let window: Duration

    public init(_ settings: NoSettings, times: CoalescingTimes) { window = times.window }

    public func due(_ arrival: CoalescingArrival) -> Instant { arrival.now.advanced(by: window) }
}
