import Testing

@testable import WebServices

@Suite("Writes that wait for an answer")
struct PendingWritesTests {
    private typealias Writes = PendingWrites<Int>

    @Test func `line feeds and carriage returns between the tokens of a client's JSON become spaces`() {
        let line = PendingLine(id: "a", bytes: Array("{\r\n\"a\":\n[1]}".utf8))
        #expect(String(decoding: line.bytes, as: UTF8.self) == "{  \"a\": [1]}")
    }

    @Test(.timeLimit(.minutes(1)))
    func `a write without events ends although the store applied its last sequence before begin was called`() async {
        let writes = Writes {}
        writes.stored(through: 9, events: [])
        writes.begin(answered: 0, applied: 3)
        async let results = writes.write([PendingLine(id: "a", bytes: [])], until: .now + .seconds(30))
        while writes.takeLines(first: 1, countMax: 10, bytesMax: 100).isEmpty { await Task.yield() }
        writes.answered(through: 1, last: 9, refusals: [:])
        guard case .stored(let events) = await results.first else {
            Issue.record("the write did not end")
            return
        }
        #expect(events.isEmpty)
    }

    @Test func `a request is refused as a whole if the outcome of every line is unknown`() throws {
        let unknown = [Writes.Result.unknown, .unknown]
        #expect(throws: ServiceError.outcomeUnknown) { _ = try unknown.throwingIfAllUnknown() }
        #expect(try [Writes.Result.unknown, .stored([1])].throwingIfAllUnknown().count == 2)
    }
}
