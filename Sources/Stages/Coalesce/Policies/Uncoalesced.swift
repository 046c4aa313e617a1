import PipelineKit
import Time

/// Each notification leaves at once, and none replaces another.
package struct Uncoalesced: CoalescingPolicy {
    package static let kind = "none"

    package init(_ settings: NoSettings, times: CoalescingTimes) {}

    package func due(_ arrival: CoalescingArrival) -> Instant { arrival.now }
}
