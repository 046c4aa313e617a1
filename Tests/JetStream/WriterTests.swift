import Glibc
import Synchronization
import TestSupport
import Testing

@testable import JetStream
@testable import NATS

@Suite(.serialized, .enabled(if: NATSServers.areTested, NATSServers.missing)) struct WriterTests {
    @Test func `messages get the sequences from 1 on, and carry their writer's name`() throws {
        let stream = try TestStream()
        let name = WriterName(host: "a")
        let writer = StreamWriter(stream.jetStream.connection, stream.name, name: name, last: 0)
        for number in 1...20 { #expect(try writer.publish(stream.message("\(number)")) == UInt64(number)) }
        #expect(writer.last == 20)
        let all = try stream.all()
        #expect(all.map(\.text) == (1...20).map { "\($0)" })
        #expect(all.allSatisfy { $0.header(WriterName.header) == "\(name)" })
    }

    @Test func `a writer that was replaced stores nothing more and says by whom`() throws {
        let stream = try TestStream()
        let (old, successor) = (stream.writer("a", last: 0), WriterName(host: "b"))
        for number in 1...3 { _ = try old.publish(stream.message("\(number)")) }
        let new = StreamWriter(stream.jetStream.connection, stream.name, name: successor, last: 3)
        // The same bytes as the old writer's next message.
        #expect(try new.publish(stream.message("4")) == 4)
        let error = JetStreamError.replaced(stream: "log", sequence: 4, by: successor)
        for number in 4...67 { #expect(throws: error) { try old.publish(stream.message("\(number)")) } }
        #expect(try stream.texts() == ["1", "2", "3", "4"])
        #expect(try new.publish(stream.message("5")) == 5)
    }

    /// This is why a writer has only one message in flight: a replaced writer's second message expects the sequence
    /// that its successor's first message got.
    @Test func `of 64 messages in flight, a replaced writer stores 63 behind its successor's`() throws {
        let stream = try TestStream()
        _ = try stream.writer("a", last: 0).publish(stream.message("successor"))
        let connection = stream.jetStream.connection
        let answers = try (0..<64).map { number in
            var message = stream.message("zombie \(number)")
            message.headers = [NATSHeader(FencedWriter.expectedSequenceHeader, "\(number)")]
            return try connection.ask(message)
        }
        let stored = try answers.count { try !$0.wait(atMost: testLimit).text.contains("error") }
        #expect(stored == 63)
        #expect(try stream.info.last == 64)
    }

    @Test func `of two writers that take over at once, exactly one wins each time`() async throws {
        let stream = try TestStream()
        let connections = try (0..<2).map { _ in try NATSConnection(stream.servers.addresses) }
        let message = stream.message("owner")
        let rounds = Tier.value(1000, full: 10_000)
        var wins = [0, 0]
        for round in 0..<rounds {
            let names = ["a", "b"].map { WriterName(host: $0) }
            let results = await withTaskGroup(of: (Int, Result<UInt64, JetStreamError>).self) { group in
                for host in 0..<2 {
                    let (connection, name) = (connections[host], names[host])
                    group.addTask {
                        await onThread {
                            let writer = StreamWriter(
                                connection, stream.name, name: name, last: UInt64(round), settings: .forTests)
                            return (host, Result { () throws(JetStreamError) in try writer.publish(message) })
                        }
                    }
                }
                return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            let winner = results[0] == .success(UInt64(round + 1)) ? 0 : 1
            wins[winner] += 1
            #expect(results[winner] == .success(UInt64(round + 1)))
            let error = JetStreamError.replaced(stream: "log", sequence: UInt64(round + 1), by: names[winner])
            #expect(results[1 - winner] == .failure(error))
        }
        #expect(try stream.info.last == UInt64(rounds))
        print("\(rounds) takeovers, won by \(wins)")
    }

    @Test func `a full stream delays the message until there is room`() async throws {
        let stream = try TestStream { $0.bytesMax = 2000 }
        let delays = Delays()
        let first = stream.writer("a", last: 0)
        _ = try first.publish(stream.message(String(repeating: "a", count: 1500)))
        let stored = BackgroundThread {
            let writer = stream.writer("b", last: 1) { delays.add($0) }
            let message = stream.message(String(repeating: "b", count: 1500))
            return Result { () throws(JetStreamError) in try writer.publish(message) }
        }
        try wait { delays.all == [.diskFull] }
        try stream.jetStream.purge(stream.name, before: 2)
        #expect(await stored.value == .success(2))
        #expect(delays.all == [.diskFull, nil])
        #expect(try stream.texts() == [String(repeating: "b", count: 1500)])
    }

    @Test func `without a server the message waits, and is stored when the server is back`() async throws {
        let stream = try TestStream()
        let delays = Delays()
        stream.servers.end(0, with: SIGKILL)
        let stored = BackgroundThread {
            let writer = stream.writer("a", last: 0) { delays.add($0) }
            return Result { () throws(JetStreamError) in try writer.publish(stream.message("1")) }
        }
        try wait { delays.all.contains(.noConnection) }
        try stream.servers.start(0)
        #expect(await stored.value == .success(1))
        #expect(delays.all.last == .some(nil))
        #expect(try stream.texts() == ["1"])
    }

    @Test func `an interrupted writer ends, and each later publish throws the same error`() async throws {
        let stream = try TestStream()
        stream.servers.end(0, with: SIGKILL)
        let interruptions = Mutex<StreamWriter.Interruption?>(nil)
        let ended = BackgroundThread {
            let writer = stream.writer("a", last: 0) { _ in }
            interruptions.withLock { $0 = writer.interruption }
            return (0..<2).map { _ in
                Result { () throws(JetStreamError) in try writer.publish(stream.message("1")) }
            }
        }
        try wait { interruptions.withLock { $0?.interrupt() } != nil }
        let error = JetStreamError.interrupted(stream: "log", sequence: 1)
        #expect(await ended.value == [.failure(error), .failure(error)])
    }

    @Test func `a stream that was deleted, or made again without its messages, ends the writer`() throws {
        let stream = try TestStream()
        let writers = ["a", "b"].map { stream.writer($0, last: 3) }
        for number in 1...3 { try stream.append("\(number)") }
        try stream.jetStream.delete(stream.name)
        #expect(throws: JetStreamError.deleted(stream: "log")) { try writers[0].publish(stream.message("4")) }
        try stream.jetStream.create(StreamSettings(stream.name, subjects: ["belfry.log.>"]))
        try stream.append("1")
        #expect(throws: JetStreamError.shortened(stream: "log", acknowledged: 3, last: 1)) {
            try writers[1].publish(stream.message("4"))
        }
        #expect(try stream.texts() == ["1"])
    }

    @Test func `a message that is too large, or that another stream stores, is an error`() throws {
        let stream = try TestStream()
        let body = [UInt8](repeating: 0, count: (8 << 20) + 1)
        let error = try #require(throws: JetStreamError.self) {
            try stream.writer("a", last: 0).publish(NATSMessage(stream.subject, body: body))
        }
        guard case .unanswered(_, _, .tooLarge) = error else {
            Issue.record("\(error)")
            return
        }
        _ = try TestStream(stream.servers, "other")
        #expect(throws: JetStreamError.elsewhere(stream: "log", other: "other")) {
            try stream.writer("a", last: 0).publish(NATSMessage("belfry.other.batch"))
        }
    }

    /// Another program may subscribe to the subject, and answer with anything.
    @Test func `an answer that is not JetStream's counts as no answer`() throws {
        let stream = try TestStream()
        let intruder = try NATSConnection(stream.servers.addresses)
        let number = try intruder.addSubscription(stream.subject) { [weak intruder] message in
            guard let reply = message.replySubject else { return }
            do { try intruder?.publish(NATSMessage(reply, body: ascii("{}"))) } catch {}
        }
        try intruder.flush(atMost: testLimit)
        let writer = stream.writer("a", last: 0)
        for number in 1...10 { #expect(try writer.publish(stream.message("\(number)")) == UInt64(number)) }
        #expect(try stream.texts() == (1...10).map { "\($0)" })
        intruder.removeSubscription(number)
    }
}
