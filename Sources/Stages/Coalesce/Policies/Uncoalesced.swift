import PipelineKit
import Time

/// Each notification leaves at once, and none replaces another.
public struct Uncoalesced: CoalescingPolicy {
    public static let kind = "none"

    public init(_ settings: NoSettings, times: CoalescingTimes) {}

    public func due(_ arrival: CoalescingArrival) -> Instant { arrival.now }
}
