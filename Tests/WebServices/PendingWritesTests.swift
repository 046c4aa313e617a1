import Testing

@testable import WebServices

@Suite("Writes that wait for an answer")
struct PendingWritesTests {
    private typealias Writes = PendingWrites<Int>

    @Test func `line feeds and carriage returns between the tokens of a client's JSON become spaces`() {
        let line = PendingLine(id: "a", of: .gateway, bytes: Array("{\r\n\"a\":\n[1]}".utf8))
        #expect(String(decoding: line.bytes, as: UTF8.self) == "{  \"a\": [1]}")
    }

    @Test(.timeLimit(.minutes(1)))
    func `a write without events ends even if begin is called after the store reached the write's sequence`() async {
        let writes = Writes {}
        writes.stored(through: 9, events: [])
        writes.begin(answered: 0, applied: 3)
        async let results = writes.write([PendingLine(id: "a", of: .gateway, bytes: [])], until: .now + .seconds(30))
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
        let lines = ["a", "b", "c"].map { PendingLine(id: $0, of: .gateway, bytes: [1]) }
        async let one = writes.write(lines, until: .now + .seconds(30))
        while writes.count < 1 { await Task.yield() }
        async let other = writes.write([PendingLine(id: "d", of: .gateway, bytes: [1])], until: .now + .seconds(30))
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

    @Test func `if the outcome of every line is unknown, the whole request gets one error`() throws {
        let unknown = [Writes.Result.unknown, .unknown]
        #expect(throws: ServiceError.outcomeUnknown) { _ = try unknown.throwingIfAllUnknownOrNotSent() }
        #expect(try [Writes.Result.unknown, .stored([1])].throwingIfAllUnknownOrNotSent().count == 2)
    }

    @Test(.timeLimit(.minutes(1)))
    func `at the deadline, a line that was not sent is dropped, and the outcome of a sent line is unknown`() async {
        let writes = Writes {}
        writes.begin(answered: 0, applied: 0)
        let lines = ["a", "b"].map { PendingLine(id: $0, of: .gateway, bytes: [1]) }
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
        let writes = Writes(queueBytesMax: 4) {}
        writes.begin(answered: 0, applied: 0)
        async let a = writes.write([Self.line("a", of: "a", bytes: 2)], until: .now + .seconds(60))
        async let b = writes.write([Self.line("b", of: "b", bytes: 2)], until: .now + .seconds(60))
        while writes.count < 2 { await Task.yield() }
        func isRefused(_ id: String) async -> Bool {
            let results = await writes.write([Self.line(id, of: id)], until: .now + .seconds(60))
            if case .refused(.notSent) = results.first { return true }
            return false
        }
        #expect(await isRefused("c"))
        #expect(Set(writes.takeLines(first: 1, countMax: 10, bytesMax: 100).lines.map(\.id)) == ["a", "b"])
        async let afterwards = isRefused("d")
        while writes.count < 3 { await Task.yield() }
        writes.close()
        #expect(await !afterwards)
        _ = await (a, b)
    }

    @Test(.timeLimit(.minutes(1)))
    func `while too many bytes of one user wait to be sent, only this user's further writes are refused`() async {
        let writes = Writes(queueBytesMax: 16) {}
        writes.begin(answered: 0, applied: 0)
        async let first = writes.write([Self.line("a1", of: "a", bytes: 4)], until: .now + .seconds(60))
        while writes.count < 1 { await Task.yield() }
        let refused = await writes.write([Self.line("a2", of: "a")], until: .now + .seconds(60))
        guard case .refused(.notSent) = refused.first else {
            Issue.record("\(refused)")
            return
        }
        async let other = writes.write([Self.line("b1", of: "b")], until: .now + .seconds(60))
        while writes.count < 2 { await Task.yield() }
        writes.close()
        _ = await (first, other)
    }

    @Test func `users take turns to send one line, and the lines of each user keep their order`() {
        var queue = LineQueue()
        queue.append(["a1", "a2", "a3"].map { Self.line($0, of: "a") })
        queue.append(["a4", "a5"].map { Self.line($0, of: "a") })
        queue.append([Self.line("b1", of: "b"), Self.line("b2", of: "b")])
        queue.append([Self.line("c1", of: "c", bytes: 50)])
        #expect(queue.take(countMax: 4, bytesMax: 100).map(\.id) == ["a1", "b1", "c1", "a2"])
        #expect(queue.bytes == 4 && queue.bytes(of: .user("b", container: "x")) == 1)
        queue.removeAll { $0.id == "a3" || $0.id == "a5" }
        #expect(queue.take(countMax: 1, bytesMax: 100).map(\.id) == ["b2"])
        queue.append([Self.line("b3", of: "b", bytes: 60)])
        queue.append([Self.line("c2", of: "c", bytes: 99)])
        // Each line has a line feed, too. A line that is longer than the limit is sent alone.
        #expect(queue.take(countMax: 9, bytesMax: 62).map(\.id) == ["a4"])
        #expect(queue.take(countMax: 9, bytesMax: 62).map(\.id) == ["b3"])
        #expect(queue.take(countMax: 9, bytesMax: 62).map(\.id) == ["c2"])
        #expect(queue.take(countMax: 9, bytesMax: 62).isEmpty && queue.bytes == 0)
    }

    private static func line(_ id: String, of user: String, bytes: Int = 1) -> PendingLine {
        PendingLine(id: id, of: .user(user, container: "x"), bytes: Array(repeating: 1, count: bytes))
    }
}
