import Glibc
import NATS
import TestSupport
import Testing

@testable import JetStream

/// A limit that is long enough for a loaded machine, and short enough that a hang is noticed.
let testLimit = Duration.seconds(30)

extension NATSConnection {
    /// A connection with short pauses, so that tests do not wait.
    convenience init(_ addresses: [String], _ change: (inout NATSSettings) -> Void = { _ in }) throws {
        var settings = try NATSSettings(servers: addresses)
        (settings.pingInterval, settings.reconnectPause) = (.milliseconds(300), .milliseconds(20))
        change(&settings)
        try self.init(settings)
    }
}

/// A new stream on servers of its own, or on servers that a test has already.
struct TestStream {
    let servers: NATSServers
    let jetStream: JetStream
    let name: StreamName
    let subject: String

    init(
        _ servers: NATSServers? = nil, _ name: String = "log", replicas: Int = 1,
        _ change: (inout StreamSettings) -> Void = { _ in }
    ) throws {
        self.servers = try servers ?? NATSServers(replicas)
        jetStream = JetStream(try NATSConnection(self.servers.addresses), answerTimeout: .seconds(2))
        (self.name, subject) = (try StreamName(name), "belfry.\(name).batch")
        var settings = StreamSettings(self.name, subjects: ["belfry.\(name).>"])
        settings.replicas = replicas
        change(&settings)
        // A new cluster first elects a leader, and learns of its servers.
        let jetStream = jetStream
        try retry { try jetStream.create(settings) }
    }

    var info: StreamInfo { get throws { try jetStream.info(name) } }

    func message(_ text: String) -> NATSMessage { NATSMessage(subject, body: ascii(text)) }

    /// Stores a message without a fence.
    func append(_ text: String) throws {
        let answer = try jetStream.connection.request(message(text), atMost: testLimit)
        try #require(answer.text.contains("seq") && !answer.text.contains("error"), "\(answer.text)")
    }

    /// All messages, read by a reader.
    func all() throws -> [StoredMessage] {
        let info = try info
        let reader = StreamReader(jetStream, name, from: info.first)
        var messages: [StoredMessage] = []
        let end = ContinuousClock.now + testLimit
        while reader.next <= info.last {
            guard ContinuousClock.now < end else { throw WaitTimedOut() }
            messages += try reader.read(atMost: .seconds(1))
        }
        return messages
    }

    func texts() throws -> [String] { try all().map(\.text) }
}

struct WaitTimedOut: Error {}

/// Waits until a condition that nothing reports becomes true.
func wait(atMost limit: Duration = testLimit, until condition: () throws -> Bool) throws {
    let end = ContinuousClock.now + limit
    while !(try condition()) {
        guard ContinuousClock.now < end else { throw WaitTimedOut() }
        usleep(5000)
    }
}

/// Repeats a request that the servers cannot carry out yet.
@discardableResult
func retry<Result>(atMost limit: Duration = testLimit, _ request: () throws -> Result) throws -> Result {
    let end = ContinuousClock.now + limit
    while true {
        do { return try request() } catch let error as JetStreamError {
            let isTooEarly: Bool
            if case .refused(_, _, let refusal) = error {
                isTooEarly = refusal.code == JetStreamRefusal.Code.noPeers
            } else {
                isTooEarly = false
            }
            guard error.isTemporary || isTooEarly, ContinuousClock.now < end else { throw error }
            usleep(50_000)
        }
    }
}

func ascii(_ text: String) -> [UInt8] { Array(text.utf8) }

extension NATSMessage {
    var text: String { String(decoding: body, as: UTF8.self) }
}

extension StoredMessage {
    var text: String { String(decoding: body, as: UTF8.self) }
}
