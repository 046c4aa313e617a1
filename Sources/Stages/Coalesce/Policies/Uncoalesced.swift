import PipelineKit
import Time

/// Lets each notification leave at once, so no notification replaces another.
package struct Uncoalesced: CoalescingPolicy {
    package static let kind = "none"

    package init(_ settings: NoSettings, times: CoalescingTimes) {}

    package func due(_ arrival: CoalescingArrival) -> Instant { arrival.now }
}
