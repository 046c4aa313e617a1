import Testing

@testable import Bench

@Suite struct MeasureTests {
    @Test func `percentiles are measured values, by nearest rank`() {
        let hundred = Percentiles((1...100).reversed().map { Int64($0) })
        #expect((hundred.p50, hundred.p90, hundred.p99, hundred.max) == (50, 90, 99, 100))
        let three = Percentiles([30, 10, 20])
        #expect((three.p50, three.p99, three.max, three.count) == (20, 30, 30, 3))
        #expect(Percentiles([5]).p99 == 5)
        #expect(Percentiles([]).p99 == 0)
    }

    @Test func `at least p percent of the values are at or below percentile p, and less than p percent are below it`() {
        var random = SplitMix64(seed: 11)
        for count in [1, 2, 9, 10, 11, 99, 100, 101, 997] {
            let values = (0..<count).map { _ in Int64(random.below(1_000)) }
            for (share, value) in [(0.5, Percentiles(values).p50), (0.99, Percentiles(values).p99)] {
                let atOrBelow = values.count { $0 <= value }
                #expect(Double(atOrBelow) >= share * Double(count))
                #expect(Double(values.count { $0 < value }) < share * Double(count))
            }
        }
    }

    @Test func `the median of an even number of values is the lower of the two middle values`() {
        #expect([3.0, 1, 2].median { $0 } == 2)
        #expect([4.0, 1, 2, 3].median { $0 } == 2)
        #expect([Double]().median { $0 } == nil)
    }

    @Test func `processor time and memory are parsed from the text of /proc/PID/stat and /proc/PID/status`() throws {
        let stat = "77 (belfry (a b) c) S 1 77 77 0 -1 4194304 1 2 3 4 150 50 0 0 20 0 9 0 1 1 1"
        let status = "Name:\tbelfry\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n"
        let use = try #require(ProcessUse(stat: stat, status: status, ticksPerSecond: 100))
        #expect((use.userSeconds, use.systemSeconds, use.seconds) == (1.5, 0.5, 2))
        #expect((use.residentBytes, use.peakBytes) == (1 << 20, 2 << 20))
        #expect(ProcessUse(stat: "", status: status, ticksPerSecond: 100) == nil)
    }
}
