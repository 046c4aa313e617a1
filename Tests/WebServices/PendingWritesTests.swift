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
    func `a write without events ends even if begin is called after the store reached the write's sequence`() async {
        let writes = Writes {}
        writes.stored(through: 9, events: [])
        writes.begin(answered: 0, applied: 3)
        async let results = writes.write([PendingLine(id: "a", bytes: [])], until: .now + .seconds(30))
        while writes.takeLines(first: 1, countMax: 10, bytesMax: 100).lines.isEmpty { await Task.yield() }
        writes.answered(through: 1, last: 9, refusals: [:])
        guard case .stored(let events) = await results.first else {
            Issue.record("the write did not end")
            return
        }
        #expect(events.isEmpty)
    }

    @Test(.timeLimit(.minutes(1)))
    func `all lines of one write get the same request number, also when they are taken in two parts`() async {
        let writes = Writes {}
        writes.begin(answered: 0, applied: 0)
        let lines = ["a", "b", "c"].map { PendingLine(id: $0, bytes: [1]) }
        async let one = writes.write(lines, until: .now + .seconds(30))
        while writes.count < 1 { await Task.yield() }
        async let other = writes.write([PendingLine(id: "d", bytes: [1])], until: .now + .seconds(30))
        while writes.count < 2 { await Task.yield() }
        let parts = [
            writes.takeLines(first: 1, countMax: 2, bytesMax: 100),
            writes.takeLines(first: 3, countMax: 1, bytesMax: 100),
            writes.takeLines(first: 4, countMax: 2, bytesMax: 100),
        ]
        #expect(parts.map { $0.lines.map(\.id) } == [["a", "b"], ["c"], ["d"]])
        #expect(parts.map(\.requests.count) == [1, 1, 1])
        #expect(parts[0].requests == parts[1].requests && parts[1].requests != parts[2].requests)
        writes.close()
        _ = await (one, other)
    }

    @Test func `a request is refused as a whole if the outcome of every line is unknown`() throws {
        let unknown = [Writes.Result.unknown, .unknown]
        #expect(throws: ServiceError.outcomeUnknown) { _ = try unknown.throwingIfNoneKnown() }
        #expect(try [Writes.Result.unknown, .stored([1])].throwingIfNoneKnown().count == 2)
    }

    @Test(.timeLimit(.minutes(1)))
    func `at its deadline, a line that was not sent is dropped, and a line at the door stays`() async {
        let writes = Writes {}
        writes.begin(answered: 0, applied: 0)
        let lines = ["a", "b"].map { PendingLine(id: $0, bytes: [1]) }
        async let results = writes.write(lines, until: .now + .seconds(60))
        while writes.count < 1 { await Task.yield() }
        #expect(writes.takeLines(first: 1, countMax: 1, bytesMax: 100).lines.map(\.id) == ["a"])
        writes.expire(at: .now + .seconds(61))
        let ended = await results
        guard case .unknown = ended.first, case .refused(.notSent) = ended.last else {
            Issue.record("\(ended)")
            return
        }
        #expect(writes.takeLines(first: 2, countMax: 10, bytesMax: 100).lines.isEmpty)
    }

    @Test(.timeLimit(.minutes(1)))
    func `while too many bytes wait to be sent, a further write is refused at once`() async {
        let writes = Writes(queueBytesMax: 3) {}
        writes.begin(answered: 0, applied: 0)
        let long = PendingLine(id: "a", bytes: [1, 1, 1])
        async let first = writes.write([long], until: .now + .seconds(60))
        while writes.count < 1 { await Task.yield() }
        func isRefused(_ id: String) async -> Bool {
            let results = await writes.write([PendingLine(id: id, bytes: [1])], until: .now + .seconds(60))
            if case .refused(.notSent) = results.first { return true }
            return false
        }
        #expect(await isRefused("b"))
        #expect(writes.takeLines(first: 1, countMax: 10, bytesMax: 100).lines.map(\.id) == ["a"])
        async let afterwards = isRefused("c")
        while writes.count < 2 { await Task.yield() }
        writes.close()
        #expect(await !afterwards)
        _ = await first
    }
}
