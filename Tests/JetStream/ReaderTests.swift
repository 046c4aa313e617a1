import Glibc
import NATS
import TestSupport
import Testing

@testable import JetStream

@Suite(.serialized, .enabled(if: NATSServers.areTested, NATSServers.missing)) struct ReaderTests {
    @Test func `a reader reads all messages from any sequence on, in order`() throws {
        let stream = try TestStream()
        for number in 1...1200 { try stream.jetStream.connection.publish(stream.message("\(number)")) }
        try wait { try stream.info.last == 1200 }
        for start in [1, 2, 500, 1200] {
            let reader = StreamReader(stream.jetStream, stream.name, from: UInt64(start))
            var texts: [String] = []
            while texts.count < 1200 - start + 1, case let next = try reader.read(atMost: testLimit), !next.isEmpty {
                texts += next.map(\.text)
            }
            #expect(texts == (start...1200).map { "\($0)" })
            #expect(reader.next == 1201)
            #expect(try reader.read(atMost: .zero) == [])
            #expect(try reader.read(atMost: .milliseconds(20)) == [])
        }
    }

    @Test func `a reader at the end gets the next message at once`() throws {
        let stream = try TestStream()
        let reader = StreamReader(stream.jetStream, stream.name, from: 1)
        for number in 1...20 {
            #expect(try reader.read(atMost: .zero) == [])
            try stream.append("\(number)")
            let start = ContinuousClock.now
            #expect(try reader.read(atMost: testLimit).map(\.text) == ["\(number)"])
            #expect(ContinuousClock.now - start < .seconds(1))
        }
    }

    @Test func `messages of 4 MB are read in order`() throws {
        let stream = try TestStream()
        for number in 1...12 {
            let body = [UInt8](repeating: UInt8(number), count: 4 << 20)
            _ = try stream.jetStream.connection.request(NATSMessage(stream.subject, body: body), atMost: testLimit)
        }
        #expect(try stream.all().map { [$0.body.count, Int($0.body[0])] } == (1...12).map { [4 << 20, $0] })
        let consumers = try stream.jetStream.call(
            "CONSUMER.NAMES", "list the consumers of", stream.name, read: { $0["total"]?.int64 })
        #expect(consumers == 1, "a request for more bytes than it may return is no reason for a new consumer")
    }

    @Test func `a start that was purged is an error that names the oldest message`() throws {
        let stream = try TestStream()
        for number in 1...10 { try stream.append("\(number)") }
        let follower = StreamReader(stream.jetStream, stream.name, from: 10)
        #expect(try follower.read(atMost: testLimit).map(\.text) == ["10"])
        try stream.jetStream.purge(stream.name, before: 5)
        let reader = StreamReader(stream.jetStream, stream.name, from: 3)
        #expect(throws: JetStreamError.purged(stream: "log", sequence: 3, first: 5)) {
            try reader.read(atMost: testLimit)
        }
        #expect(try stream.texts() == (5...10).map { "\($0)" })
        // The follower has read all messages, so it does not notice the purge.
        try stream.jetStream.purge(stream.name, before: 11)
        try stream.append("11")
        #expect(try follower.read(atMost: testLimit).map(\.text) == ["11"])
    }

    @Test func `a message that is missing between others is an error`() throws {
        let stream = try TestStream()
        // StreamSettings forbids the deletion of single messages, so the test makes this stream without it.
        let settings = #"{"name":"holes","subjects":["belfry.holes.>"],"storage":"file"}"#
        let connection = stream.jetStream.connection
        let request = NATSMessage("$JS.API.STREAM.CREATE.holes", body: ascii(settings))
        _ = try connection.request(request, atMost: testLimit)
        for number in 1...5 {
            let message = NATSMessage("belfry.holes.batch", body: ascii("\(number)"))
            _ = try connection.request(message, atMost: testLimit)
        }
        let removal = NATSMessage("$JS.API.STREAM.MSG.DELETE.holes", body: ascii(#"{"seq":3}"#))
        #expect(try connection.request(removal, atMost: testLimit).text.contains(#""success":true"#))
        let reader = StreamReader(stream.jetStream, try StreamName("holes"), from: 1)
        var texts: [String] = []
        let error = try #require(throws: JetStreamError.self) {
            try wait {
                texts += try reader.read(atMost: .seconds(1)).map(\.text)
                return false
            }
        }
        #expect(texts == ["1", "2"] && error == .gap(stream: "holes", sequence: 3))
    }

    @Test func `a reader goes on after a restart of the server, which loses the consumer`() throws {
        let stream = try TestStream()
        try stream.append("1")
        let reader = StreamReader(stream.jetStream, stream.name, from: 1)
        #expect(try reader.read(atMost: testLimit).map(\.text) == ["1"])
        stream.servers.end(0, with: SIGKILL)
        try stream.servers.start(0)
        try retry { try stream.info }
        try stream.append("2")
        var texts: [String] = []
        try wait {
            texts += try retry { try reader.read(atMost: .milliseconds(100)) }.map(\.text)
            return !texts.isEmpty
        }
        #expect(texts == ["2"])
    }

    /// Servers send a consumer's messages once. A connection that ends loses those that are on their way.
    @Test func `messages that were lost on the way are delivered again`() throws {
        let stream = try TestStream()
        for number in 1...50 { try stream.append("\(number)") }
        let proxy = try TCPProxy(to: stream.servers.port(0))
        defer { proxy.stop() }
        let connection = try NATSConnection(["nats://127.0.0.1:\(proxy.port)"])
        let jetStream = JetStream(connection, answerTimeout: .milliseconds(500))
        for bytes in [300, 1000, 2000, 4000] {
            let reader = StreamReader(jetStream, stream.name, from: 1)
            proxy.arm(TCPProxy.Fault(.toClient, after: bytes, .cut))
            var texts: [String] = []
            try wait {
                texts += try retry { try reader.read(atMost: .milliseconds(50)) }.map(\.text)
                return texts.count >= 50
            }
            #expect(texts == (1...50).map { "\($0)" } && proxy.hasHappened)
        }
    }
}
