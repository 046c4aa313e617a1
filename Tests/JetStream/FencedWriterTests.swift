import NATS
import Testing

@testable import JetStream

private struct NotAPublish: Error {}

/// One publish, told as a series of answers. Each test reads like the log of a conversation.
@Suite struct FencedWriterTests {
    private static let name = WriterName(host: "a", process: 1, number: 15)
    private static let other = WriterName(host: "b", process: 1, number: 15)
    private static let body = ascii("batch")

    private var writer: FencedWriter
    private var step: FencedWriter.Step

    init() throws {
        writer = FencedWriter(try StreamName("log"), name: Self.name, last: 6)
        step = writer.publish(NATSMessage("belfry.log.batch", body: Self.body))
    }

    /// Answers the current step, and returns the action of the next one.
    private mutating func answer(_ answer: FencedWriter.Answer) throws -> FencedWriter.Action {
        let next = writer.receive(answer, to: step.number)
        step = try #require(next)
        return step.action
    }

    private var published: NATSMessage {
        get throws {
            guard case .publish(let message) = step.action else { throw NotAPublish() }
            return message
        }
    }

    private static func stored(_ sequence: UInt64 = 7, by writer: String? = "\(name)") -> StoredMessage {
        StoredMessage(
            sequence, "belfry.log.batch", headers: writer.map { [NATSHeader(WriterName.header, $0)] } ?? [], body: body)
    }

    private static func wrongLastSequence(_ last: Int) -> FencedWriter.Answer {
        .refused(JetStreamRefusal(code: 10071, text: "wrong last sequence: \(last)"))
    }

    @Test func `a message names its writer and the sequence that it follows`() throws {
        #expect(
            try published.headers == [
                NATSHeader("Belfry-Writer", "a 1 f"), NATSHeader("Nats-Expected-Last-Sequence", "6"),
            ])
        var first = FencedWriter(try StreamName("log"), name: Self.name, last: 0)
        guard case .publish(let message) = first.publish(NATSMessage("a")).action else { throw NotAPublish() }
        #expect(message.header("Nats-Expected-Last-Sequence") == "0")
    }

    @Test mutating func `an acknowledged message is stored, and the next one follows it`() throws {
        #expect(try answer(.stored(7)) == .finish(.stored(7)))
        step = writer.publish(NATSMessage("a"))
        #expect(try published.header("Nats-Expected-Last-Sequence") == "7")
    }

    @Test mutating func `a lost message is published again, with the same bytes for the same slot`() throws {
        let first = try published
        #expect(try answer(.none(.noAnswer)) == .pause(.noAnswer))
        #expect(try answer(.resumed) == .findEnd)
        #expect(try answer(.end(first: 1, last: 6)) == .publish(first))
        #expect(try answer(.stored(7)) == .finish(.stored(7)))
    }

    @Test mutating func `a message whose acknowledgement was lost counts as stored, and is not published again`() throws
    {
        #expect(try answer(.none(.noConnection)) == .pause(.noConnection))
        #expect(try answer(.resumed) == .findEnd)
        #expect(try answer(.end(first: 1, last: 7)) == .readMessage(7))
        #expect(try answer(.message(Self.stored())) == .finish(.stored(7)))
    }

    @Test mutating func `a message that is refused because its earlier publish was stored counts as stored`() throws {
        #expect(try answer(Self.wrongLastSequence(7)) == .findEnd)
        #expect(try answer(.end(first: 1, last: 9)) == .readMessage(7))
        #expect(try answer(.message(Self.stored())) == .finish(.stored(7)))
    }

    @Test(arguments: [other.description, nil, "garbage", "a 1 e", "a 2 f"])
    func `a message that names another writer or none ends this writer, even with the same bytes`(
        writer name: String?
    ) throws {
        var copy = self
        _ = try copy.answer(Self.wrongLastSequence(7))
        _ = try copy.answer(.end(first: 1, last: 7))
        let replaced = JetStreamError.replaced(stream: "log", sequence: 7, by: name.flatMap { WriterName($0) })
        #expect(try copy.answer(.message(Self.stored(by: name))) == .finish(.ended(replaced)))
        let later = copy.writer.publish(NATSMessage("a"))
        #expect(later.action == .finish(.ended(replaced)))
    }

    @Test mutating func `a slot that was purged belongs to another writer`() throws {
        _ = try answer(Self.wrongLastSequence(9))
        let replaced = JetStreamError.replaced(stream: "log", sequence: 7, by: nil)
        #expect(try answer(.end(first: 8, last: 9)) == .finish(.ended(replaced)))
    }

    @Test mutating func `a message of this writer with other bytes is an error`() throws {
        _ = try answer(Self.wrongLastSequence(7))
        _ = try answer(.end(first: 1, last: 7))
        var changed = Self.stored()
        changed.body[0] ^= 1
        let error = JetStreamError.changed(stream: "log", sequence: 7)
        #expect(try answer(.message(changed)) == .finish(.ended(error)))
    }

    @Test(arguments: [
        (JetStreamRefusal(code: 10077, text: "maximum bytes exceeded"), WriterDelay.diskFull),
        (JetStreamRefusal(code: 10023, text: "insufficient resources"), .diskFull),
        (JetStreamRefusal(code: 10008, text: "JetStream system temporarily unavailable"), .noQuorum),
    ])
    func `a full or leaderless stream is tried again with the same bytes`(
        refusal: JetStreamRefusal, delay: WriterDelay
    ) throws {
        var copy = self
        let first = try copy.published
        for _ in 0..<200 {
            #expect(try copy.answer(.refused(refusal)) == .pause(delay))
            #expect(try copy.answer(.resumed) == .findEnd)
            #expect(try copy.answer(.none(.noQuorum)) == .pause(.noQuorum))
            #expect(try copy.answer(.resumed) == .findEnd)
            #expect(try copy.answer(.end(first: 1, last: 6)) == .publish(first))
        }
        #expect(try copy.answer(.stored(7)) == .finish(.stored(7)))
    }

    @Test mutating func `a refusal that no later attempt can change ends the writer`() throws {
        let refusal = JetStreamRefusal(code: 10054, text: "message size exceeds maximum allowed")
        let error = JetStreamError.refused(operation: "append to", stream: "log", refusal)
        #expect(try answer(.refused(refusal)) == .finish(.ended(error)))
    }

    @Test mutating func `an acknowledgement for another place ends the writer`() throws {
        let error = JetStreamError.misplaced(stream: "log", expected: 7, found: 3)
        #expect(try answer(.stored(3)) == .finish(.ended(error)))
    }

    @Test(arguments: [
        (FencedWriter.Answer.end(first: 1, last: 5), JetStreamError.shortened(stream: "log", acknowledged: 6, last: 5)),
        (.noStream, .deleted(stream: "log")),
    ])
    func `a leader that lacks what was acknowledged is asked again, and then the writer ends`(
        answer: FencedWriter.Answer, error: JetStreamError
    ) throws {
        var copy = self
        _ = try copy.answer(.none(.noAnswer))
        for _ in 0..<FencedWriter.contradictionsMax {
            #expect(try copy.answer(.resumed) == .findEnd)
            #expect(try copy.answer(answer) == .pause(.contradiction))
        }
        _ = try copy.answer(.resumed)
        #expect(try copy.answer(answer) == .finish(.ended(error)))
    }

    @Test mutating func `a leader that does not have the message yet is asked again`() throws {
        _ = try answer(Self.wrongLastSequence(7))
        #expect(try answer(.end(first: 1, last: 7)) == .readMessage(7))
        #expect(try answer(.message(nil)) == .pause(.contradiction))
        #expect(try answer(.resumed) == .findEnd)
        #expect(try answer(.end(first: 1, last: 6)) == .publish(try firstMessage))
        #expect(try answer(Self.wrongLastSequence(7)) == .pause(.contradiction))
    }

    @Test mutating func `a leader that never has the message, although its stream is longer, ends the writer`() throws {
        _ = try answer(.none(.noAnswer))
        for _ in 0..<FencedWriter.contradictionsMax {
            #expect(try answer(.resumed) == .findEnd)
            #expect(try answer(.end(first: 1, last: 9)) == .readMessage(7))
            #expect(try answer(.message(nil)) == .pause(.contradiction))
        }
        _ = try answer(.resumed)
        _ = try answer(.end(first: 1, last: 9))
        #expect(try answer(.message(nil)) == .finish(.ended(.gap(stream: "log", sequence: 7))))
    }

    @Test mutating func `a leader that refuses each publish, although its stream ends as expected, ends the writer`()
        throws
    {
        #expect(try answer(Self.wrongLastSequence(6)) == .findEnd)
        for _ in 1..<FencedWriter.contradictionsMax {
            #expect(try answer(.end(first: 1, last: 6)) == .publish(try firstMessage))
            #expect(try answer(Self.wrongLastSequence(6)) == .pause(.contradiction))
            #expect(try answer(.resumed) == .findEnd)
        }
        _ = try answer(.end(first: 1, last: 6))
        let refusal = JetStreamRefusal(code: 10071, text: "wrong last sequence: 6")
        #expect(
            try answer(Self.wrongLastSequence(6))
                == .finish(.ended(.refused(operation: "append to", stream: "log", refusal))))
    }

    private var firstMessage: NATSMessage {
        get throws {
            var fresh = FencedWriter(try StreamName("log"), name: Self.name, last: 6)
            guard case .publish(let message) = fresh.publish(NATSMessage("belfry.log.batch", body: Self.body)).action
            else { throw NotAPublish() }
            return message
        }
    }

    @Test mutating func `a late answer to an earlier step changes nothing`() throws {
        let publish = step
        _ = try answer(.none(.noAnswer))
        for late in [FencedWriter.Answer.stored(7), Self.wrongLastSequence(7), .resumed] {
            let next = writer.receive(late, to: publish.number)
            #expect(next == nil)
        }
        #expect(try answer(.resumed) == .findEnd)
        // The writer ignores an answer of the wrong kind.
        for number in [publish.number, step.number] {
            let next = writer.receive(.stored(7), to: number)
            #expect(next == nil)
        }
        #expect(try answer(.end(first: 1, last: 6)) == .publish(try firstMessage))
    }
}
