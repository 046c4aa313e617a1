import TestSupport
import Testing
import Time

@Suite struct InstantTests {
    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01T00:00:00.000001Z", 1),
            ("1970-01-01t01:00:00.5+01:00", 500_000),
            ("1969-12-31T23:00:00-01:00", 0),
            ("2000-02-29T12:34:56.789Z", 951_827_696_789_000),
            ("2024-02-29T23:59:59z", 1_709_251_199_000_000),
            ("2026-03-01T00:00:00.123456789Z", 1_772_323_200_123_456),
            ("2026-03-01T05:30:00-00:00", 1_772_343_000_000_000),
            ("2026-03-01T00:00:00+23:59", 1_772_236_860_000_000),
            ("2100-03-01T00:00:00Z", 4_107_542_400_000_000),
            ("9999-12-31T23:59:59.999999Z", 253_402_300_799_999_999),
        ] as [(String, Int64)])
    func `valid RFC 3339 texts are read`(text: String, microseconds: Int64) {
        #expect(Instant(rfc3339: text) == Instant(microseconds: microseconds))
    }

    @Test(arguments: [
        "", "2026", "2026-03-01", "2026-03-01T00:00:00", "2026-03-01 00:00:00Z", "2026-03-01T00:00Z",
        "2026-3-01T00:00:00Z", "2026-03-1T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
        "2026-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-03-00T00:00:00Z",
        "2026-03-01T24:00:00Z", "2026-03-01T00:60:00Z", "2016-12-31T23:59:60Z", "2026-03-01T00:00:00.Z",
        "2026-03-01T00:00:00.1234567890Z", "2026-03-01T00:00:00,5Z", "2026-03-01T00:00:00+0100",
        "2026-03-01T00:00:00+24:00", "2026-03-01T00:00:00+01:60", "2026-03-01T00:00:00ZZ", " 2026-03-01T00:00:00Z",
        "2026-03-01T00:00:00+01:00Z", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01", "12026-03-01T00:00:00Z", "-2026-03-01T00:00:00Z", "２026-03-01T00:00:00Z",
    ])
    func `invalid texts, second 60, ten digits of fraction and times beyond the limits are refused`(text: String) {
        #expect(Instant(rfc3339: text) == nil)
    }

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (1, "1970-01-01T00:00:00.000001Z"), (120_000, "1970-01-01T00:00:00.120Z"),
            (951_827_696_789_000, "2000-02-29T12:34:56.789Z"), (253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z"),
            (-1, "1969-12-31T23:59:59.999999Z"),
        ] as [(Int64, String)])
    func `an instant is written in UTC, with no, three or six digits of fraction`(microseconds: Int64, text: String) {
        #expect(Instant(microseconds: microseconds).rfc3339 == text)
    }

    @Test func `a written instant is read back unchanged`() {
        let seed = Seeded.ofThisRun
        var random = Seeded(seed)
        for _ in 0..<20_000 {
            let moment = Instant(microseconds: .random(in: 0...Instant.distantFuture.microseconds, using: &random))
            #expect(Instant(rfc3339: moment.rfc3339) == moment, "BELFRY_SEED=\(seed)")
        }
    }

    @Test func `the text of each day sorts after the text of the day before, and is read back`() {
        var previous = ""
        for day in 0..<80_000 as Range<Int64> {
            let text = Instant(microseconds: day * 86_400_000_000).rfc3339
            #expect(text > previous && Instant(rfc3339: text)?.microseconds == day * 86_400_000_000)
            previous = text
        }
    }

    @Test func `sums stay between the epoch and the distant future, and differences are limited to Int64`() {
        let moment = Instant(microseconds: 1_000_000)
        #expect(moment.advanced(by: .milliseconds(1500)) == Instant(microseconds: 2_500_000))
        #expect(moment.advanced(by: .nanoseconds(1999)) == Instant(microseconds: 1_000_001))
        #expect(moment.advanced(by: .seconds(-5)) == .epoch)
        #expect(moment.advanced(by: .seconds(Int64.max)) == .distantFuture)
        #expect(Instant(microseconds: .max).advanced(by: .seconds(1)) == .distantFuture)
        #expect(moment - Instant(microseconds: 250_000) == .milliseconds(750))
        #expect(Instant(microseconds: .max) - Instant(microseconds: -5) == .microseconds(Int64.max))
    }

    @Test func `the wall clock is after 2023 and before the distant future`() {
        #expect(Instant.wall() > Instant(rfc3339: "2024-01-01T00:00:00Z") ?? .distantFuture)
        #expect(Instant.wall() < .distantFuture)
    }
}
