import BelfryTestKit
import Coalesce
import PipelineKit
import PipelineTestKit
import Synchronization
import TestSupport
import Testing
import Time

/// The check accepts policies that follow the rules, and finds policies that break them.
@Suite struct PolicyCheckTests {
    @Test(arguments: Tier.some(of: ["latest", "debounce", "none", "{use: nights, until: 5000000}"]))
    func `a policy that uses only its settings and arguments passes`(_ policy: String) throws {
        let settings = "{policy: \(policy), window: 300ms, maximumDelay: 20s, pendingPerUser: 2}"
        #expect(try PolicyCheck(Nights.self, settings: settings).problems() == [])
    }

    @Test func `a policy with random numbers fails`() throws {
        let problems = try PolicyCheck(Dice.self, settings: "{policy: dice}").problems()
        #expect(problems.first?.hasPrefix("seed 1: the same matches give other output") == true, "\(problems)")
    }

    @Test func `a policy with state of its own fails`() throws {
        let problems = try PolicyCheck(Counting.self, settings: "{policy: counting, maximumDelay: 60s}").problems()
        #expect(problems.contains { $0.contains("a restart after match") }, "\(problems)")
    }

    @Test func `settings that the policy refuses are refused`() {
        #expect(throws: SettingsError.self) {
            try PolicyCheck(Nights.self, settings: "{policy: {use: nights, util: 5}}")
        }
    }

    /// Holds each notification that arrives in the first `until` microseconds of a period of ten seconds, until these
    /// microseconds have passed.
    private struct Nights: CoalescingPolicy {
        struct Settings: PluginSettings {
            let until: Int

            init(from settings: inout SettingsReader) throws(SettingsError) {
                until = try settings.integer("until", default: 1, in: 1...10_000_000)
            }
        }

        static let kind = "nights"
        private let until: Int64

        init(_ settings: Settings, times: CoalescingTimes) { until = Int64(settings.until) }

        func due(_ arrival: CoalescingArrival) -> Instant {
            let now = arrival.now.microseconds
            return now % 10_000_000 < until ? Instant(microseconds: now - now % 10_000_000 + until) : arrival.now
        }
    }

    private struct Dice: CoalescingPolicy {
        static let kind = "dice"

        init(_ settings: NoSettings, times: CoalescingTimes) {}

        func due(_ arrival: CoalescingArrival) -> Instant {
            arrival.now.advanced(by: .milliseconds(Int.random(in: 0...500)))
        }
    }

    private struct Counting: CoalescingPolicy {
        private final class Count: Sendable { let value = Mutex(0) }

        static let kind = "counting"
        private let count = Count()

        init(_ settings: NoSettings, times: CoalescingTimes) {}

        func due(_ arrival: CoalescingArrival) -> Instant {
            let asked = count.value.withLock { value in
                value += 1
                return value
            }
            return arrival.now.advanced(by: .milliseconds(asked))
        }
    }
}
