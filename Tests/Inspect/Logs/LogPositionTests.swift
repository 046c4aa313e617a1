import Testing
import Time

@testable import Inspect

struct LogPositionTests {
    @Test func `positions in a log are sequences, times or durations back from its end`() {
        #expect(LogPosition(argument: "17") == .sequence(17))
        #expect(LogPosition(argument: "1970-01-01T00:00:01Z") == .time(Instant(microseconds: 1_000_000)))
        #expect(LogPosition(argument: "0") == nil)
        #expect(LogPosition(argument: "-10m") == .back(.seconds(600)))
        #expect(LogPosition(argument: "1h30m ago") == .back(.seconds(5400)))
        for text in ["-1", "-", " ago", "10m", "-10x", "-m", "-9999999999999d"] {
            #expect(LogPosition(argument: text) == nil, "\(text)")
        }
    }
}
