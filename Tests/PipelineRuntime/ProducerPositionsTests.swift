import EventLog
import Testing

@testable import PipelineRuntime

@Suite struct ProducerPositionsTests {
    @Test func `a producer is resumed where its last line was`() {
        var positions = ProducerPositions(Cursor(["a": 7]))
        positions.advance("b", to: 3)
        #expect(positions["a"] == 7)
        #expect(positions["b"] == 3)
        #expect(positions["c"] == 0)
        #expect(positions.changes == Cursor(["b": 3]))
        positions.settleChanges()
        #expect(!positions.hasChanged)
    }

    @Test func `a position never goes back`() {
        var positions = ProducerPositions(Cursor(["a": 7]))
        positions.advance("a", to: 5)
        #expect(positions["a"] == 7)
        #expect(!positions.hasChanged)
    }

    @Test func `the producer that was silent longest is forgotten, also by the log's cursor`() {
        var positions = ProducerPositions(Cursor())
        var log = Cursor()
        for number in 1...(ProducerPositions.producersMax + 10) {
            positions.advance("p\(number)", to: 1)
            if number > 1 { positions.advance("p1", to: UInt64(number)) }
            log.fold(positions.changes)
            positions.settleChanges()
        }
        #expect(log.positions.count == ProducerPositions.producersMax)
        #expect(positions["p1"] > 1)
        #expect(positions["p2"] == 0)
        #expect(log.positions["p2"] == nil)
        let again = ProducerPositions(log)
        #expect(again["p1"] == positions["p1"])
    }
}
