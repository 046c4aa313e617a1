import Testing
import Time

@testable import Access

@Suite struct FailureLimiterTests {
    private static func client(_ text: String) -> FailureLimiter.Subject { .client(text) }

    private static func wait(_ limiter: FailureLimiter, _ address: String, at now: Instant) -> Int? {
        do throws(AccessError) {
            try limiter.admit(address, at: now)
            return nil
        } catch { return error.code == .throttled ? error.retryAfter : -1 }
    }

    @Test func `each interval gives one more attempt, up to the burst`() {
        var limiter = FailureLimiter()
        let interval = FailureLimiter.clientLimit.interval
        func fail(_ count: Int, at now: Instant) {
            for _ in 0..<count { limiter.record(Self.client("192.0.2.1"), at: now) }
        }
        fail(19, at: Gate.now)
        #expect(Self.wait(limiter, "192.0.2.1", at: Gate.now) == nil)
        fail(1, at: Gate.now)
        #expect(Self.wait(limiter, "192.0.2.1", at: Gate.now) == 6)
        #expect(Self.wait(limiter, "192.0.2.1", at: Gate.now + .milliseconds(5_001)) == 1)
        let next = Gate.now + interval
        #expect(Self.wait(limiter, "192.0.2.1", at: next) == nil)
        fail(1, at: next)
        #expect(Self.wait(limiter, "192.0.2.1", at: next) == 6)
        let full = next + interval * 100
        fail(19, at: full)
        #expect(Self.wait(limiter, "192.0.2.1", at: full) == nil)
        fail(1, at: full)
        #expect(Self.wait(limiter, "192.0.2.1", at: full) == 6)
    }

    @Test func `after the clock goes back, no client is refused for longer than one interval`() {
        var limiter = FailureLimiter()
        for _ in 0..<20 { limiter.record(Self.client("192.0.2.1"), at: Gate.now) }
        #expect(Self.wait(limiter, "192.0.2.1", at: Gate.now.advanced(by: .seconds(-86_400))) == 6)
    }

    @Test func `memory is bounded, and the worst clients are remembered`() {
        var limiter = FailureLimiter(countMax: 100)
        for _ in 0..<20 { limiter.record(Self.client("192.0.2.1"), at: Gate.now) }
        for number in 0..<1_000 {
            limiter.record(Self.client("10.0.\(number / 250).\(number % 250)"), at: Gate.now)
            #expect(limiter.count <= 100)
        }
        #expect(Self.wait(limiter, "192.0.2.1", at: Gate.now) == 6)
        let later = Gate.now + .seconds(3_600)
        limiter.record(Self.client("192.0.2.9"), at: later)
        for number in 0..<100 { limiter.record(Self.client("10.1.0.\(number)"), at: later) }
        #expect(limiter.count <= 100)
    }
}
