import Foundation
import Synchronization
import TestSupport
import Testing
import ZeroMQ

@testable import NATS

@Suite(.serialized, .enabled(if: NATSServers.areTested, NATSServers.missing)) struct ConnectionTests {
    @Test func `a message arrives with its headers, and an empty one too`() throws {
        let servers = try NATSServers()
        let (sender, receiver) = (try NATSConnection(servers), try NATSConnection(servers))
        let subscription = try receiver.subscribe("test.*")
        try receiver.flush(atMost: testLimit)
        let headers = [NATSHeader("A", "1"), NATSHeader("A", "2"), NATSHeader("b", "ü: x")]
        let message = NATSMessage("test.a", replySubject: "answers", headers: headers, body: [0, 10, 13, 255])
        try sender.publish(message)
        try sender.publish(NATSMessage("test.b"))
        var received = subscription.inbox.next(2)
        received[0].headers.sort { ($0.name, $0.value) < ($1.name, $1.value) }
        #expect(received == [message, NATSMessage("test.b")])
        #expect(sender.isConnected && sender.server?.description == servers.addresses[0])
        #expect(sender.payloadBytesMax == 8 << 20)
    }

    @Test func `a request gets its answer, and requests of many threads each get their own`() async throws {
        let servers = try NATSServers()
        let (client, server) = (try NATSConnection(servers), try NATSConnection(servers))
        let number = try server.addSubscription("double") { [weak server] message in
            guard let reply = message.replySubject else { return }
            do { try server?.publish(NATSMessage(reply, body: message.body + message.body)) } catch {}
        }
        try server.flush(atMost: testLimit)
        let answers = await withTaskGroup(of: Bool.self) { group in
            for thread in 0..<4 {
                group.addTask {
                    await onThread {
                        (0..<50).allSatisfy { round in
                            let text = "\(thread).\(round)."
                            do {
                                let request = NATSMessage("double", body: ascii(text))
                                return try client.request(request, atMost: testLimit).text == text + text
                            } catch { return false }
                        }
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers == [true, true, true, true])
        server.removeSubscription(number)
    }

    @Test func `a request that nobody answers ends at once, or at its limit`() throws {
        let servers = try NATSServers()
        let connection = try NATSConnection(servers)
        #expect(throws: NATSError.noResponders(subject: "nobody")) {
            try connection.request(NATSMessage("nobody"), atMost: testLimit)
        }
        let subscription = try connection.subscribe("silent")
        let limit = Duration.milliseconds(50)
        #expect(throws: NATSError.timedOut(subject: "silent", limit: limit)) {
            try connection.request(NATSMessage("silent"), atMost: limit)
        }
        #expect(subscription.inbox.next().count == 1)
    }

    @Test func `a late answer goes to no other request`() throws {
        let servers = try NATSServers()
        let (client, server) = (try NATSConnection(servers), try NATSConnection(servers))
        let subscription = try server.subscribe("late")
        try server.flush(atMost: testLimit)
        #expect(throws: NATSError.self) { try client.request(NATSMessage("late"), atMost: .milliseconds(20)) }
        let second = try client.ask(NATSMessage("late", body: ascii("second")))
        for message in subscription.inbox.next(2) {
            let answer = message.text.isEmpty ? "first" : message.text
            try server.publish(NATSMessage(try #require(message.replySubject), body: ascii(answer)))
        }
        #expect(try second.wait(atMost: testLimit).text == "second")
    }

    @Test func `a ZeroMQ poller waits for an inbox and for an answer`() throws {
        let servers = try NATSServers()
        let connection = try NATSConnection(servers)
        let subscription = try connection.subscribe("a")
        let poller = ZMQPoller()
        let inbox = poller.add(fileDescriptor: subscription.inbox.fileDescriptor)
        #expect(try poller.poll(timeoutMilliseconds: 0) == 0)
        let reply = try connection.ask(NATSMessage("a"))
        let answer = poller.add(fileDescriptor: reply.fileDescriptor)
        #expect(try poller.poll(timeoutMilliseconds: 20_000) == 1)
        #expect(poller.readiness(at: inbox) == .readable && poller.readiness(at: answer) == [])
        let request = try #require(subscription.inbox.take().first)
        #expect(try poller.poll(timeoutMilliseconds: 0) == 0)
        #expect(try reply.take() == nil)
        try connection.publish(NATSMessage(try #require(request.replySubject), body: [7]))
        #expect(try poller.poll(timeoutMilliseconds: 20_000) == 1)
        #expect(poller.readiness(at: answer) == .readable)
        #expect(try reply.take()?.body == [7])
    }

    @Test func `a released subscription receives nothing more`() throws {
        let servers = try NATSServers()
        let connection = try NATSConnection(servers)
        var subscription: NATSSubscription? = try connection.subscribe("a")
        let inbox = try #require(subscription?.inbox)
        try connection.publish(NATSMessage("a"))
        #expect(inbox.next().count == 1)
        subscription = nil
        #expect(throws: NATSError.noResponders(subject: "a")) {
            try connection.request(NATSMessage("a"), atMost: testLimit)
        }
        #expect(inbox.take() == [])
    }

    /// The bodies are so large that libnats takes a while to hand each one over. libnats 3.4.1 used to read the memory
    /// of a subscription that had been freed meanwhile.
    @Test func `a subscription may be released while messages arrive`() async throws {
        let servers = try NATSServers()
        let (sender, receiver) = (try NATSConnection(servers), try NATSConnection(servers))
        let isOver = Atomic(false)
        async let sending: Void = onThread {
            let message = NATSMessage("test", body: Array(repeating: 0x61, count: 300_000))
            while !isOver.load(ordering: .relaxed) { do { try sender.publish(message) } catch { return } }
        }
        for _ in 0..<300 {
            let subscription = try receiver.subscribe("test")
            #expect(!subscription.inbox.next(1).isEmpty)
        }
        isOver.store(true, ordering: .relaxed)
        await sending
    }

    @Test func `a message above the server's limit is refused before it is sent`() throws {
        let servers = try NATSServers()
        let connection = try NATSConnection(servers)
        let body = [UInt8](repeating: 0, count: 8 << 20)
        try connection.publish(NATSMessage("a", body: body))
        let error = NATSError.tooLarge(bytes: (8 << 20) + 1, bytesMax: 8 << 20)
        #expect(throws: error) { try connection.publish(NATSMessage("a", body: body + [0])) }
        // The headers count, too: 18 bytes.
        var message = NATSMessage("a", headers: [NATSHeader("A", "1")], body: Array(body.dropFirst(17)))
        #expect(throws: error) { try connection.publish(message) }
        message.body.removeLast()
        try connection.publish(message)
        try connection.flush(atMost: testLimit)
        #expect(connection.lostConnections == 0)
    }

    @Test func `after close everything is refused, and requests in flight end`() throws {
        let servers = try NATSServers()
        let connection = try NATSConnection(servers)
        let subscription = try connection.subscribe("silent")
        let reply = try connection.ask(NATSMessage("silent"))
        #expect(subscription.inbox.next().count == 1)
        connection.close()
        #expect(throws: NATSError.self) { try reply.wait(atMost: testLimit) }
        #expect(throws: NATSError.closed) { try connection.publish(NATSMessage("a")) }
        #expect(throws: NATSError.closed) { try connection.subscribe("a") }
        #expect(!connection.isConnected)
    }

    @Test func `no server at the address is an error that names the address`() throws {
        let port = try ReservedPort()
        let error = try #require(throws: NATSError.self) {
            try NATSConnection(NATSSettings(servers: ["nats://127.0.0.1:\(port.number)"]))
        }
        #expect("\(error)".contains("nats://127.0.0.1:\(port.number)"))
        #expect(throws: NATSError.withoutServers) { try NATSConnection(NATSSettings(servers: [ServerAddress]())) }
    }

    @Test func `a program that does not speak NATS is an error`() throws {
        let server = TestServer { _, _ in .status(200) }
        defer { server.stop() }
        var settings = try NATSSettings(servers: ["nats://127.0.0.1:\(server.port)"])
        settings.connectTimeout = .milliseconds(100)
        #expect(throws: NATSError.self) { try NATSConnection(settings) }
    }
}

@Suite struct InboxTests {
    @Test func `messages for which an inbox has no room are dropped and counted`() throws {
        let inbox = try NATSInbox(bytesMax: 100)
        for size in [60, 40, 1, 0] { inbox.put(NATSMessage("a", body: [UInt8](repeating: 1, count: size))) }
        #expect(inbox.take().map(\.body.count) == [60, 40, 0])
        #expect(inbox.takeDropped() == 1)
        #expect(inbox.takeDropped() == 0)
    }

    @Test func `an empty inbox has room for a message of any size`() throws {
        let inbox = try NATSInbox(bytesMax: 100)
        for _ in 0..<2 { inbox.put(NATSMessage("a", body: [UInt8](repeating: 1, count: 200))) }
        #expect(inbox.take().count == 1 && inbox.takeDropped() == 1)
    }
}

@Suite(.serialized, .enabled(if: NATSServers.areTested, NATSServers.missing)) struct ServerInfoTests {
    @Test func `a server tells its version, its limit and whether it has JetStream`() throws {
        let servers = try NATSServers()
        let info = try NATSConnection(servers).serverInfo(atMost: testLimit)
        #expect(info.name == "n1" && info.hasJetStream && info.cluster == nil && info.payloadBytesMax == 8 << 20)
        #expect(info.isAtLeast(2, 9, 0) && !info.isAtLeast(99, 0, 0))
        let other = try NATSServers(2, hasJetStream: false)
        let second = try NATSConnection(other).serverInfo(atMost: testLimit)
        #expect(!second.hasJetStream && second.cluster == "lab")
    }

    @Test func `versions are compared by their numbers`() throws {
        let servers = try NATSServers()
        let info = try ServerInfo(of: ServerAddress(servers.addresses[0]), atMost: testLimit)
        let parts = info.version.split(separator: ".").compactMap { Int($0) }
        try #require(parts.count == 3)
        #expect(info.isAtLeast(parts[0], parts[1], parts[2]) && !info.isAtLeast(parts[0], parts[1], parts[2] + 1))
        #expect(!info.isAtLeast(parts[0], parts[1] + 1, 0) && info.isAtLeast(parts[0], parts[1] - 1, 99))
    }

    @Test func `an address without a server, or with another program, is an error`() throws {
        let port = try ReservedPort()
        #expect(throws: NATSError.self) {
            try ServerInfo(of: ServerAddress("nats://127.0.0.1:\(port.number)"), atMost: testLimit)
        }
        let server = TestServer { _, _ in .status(200) }
        defer { server.stop() }
        let silent = try ServerAddress("nats://127.0.0.1:\(server.port)")
        #expect(throws: NATSError.unreachable(servers: [silent], reason: "it sends nothing")) {
            try ServerInfo(of: silent, atMost: .milliseconds(50))
        }
    }
}
