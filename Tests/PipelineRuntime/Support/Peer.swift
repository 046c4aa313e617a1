import JSON
import PipelineRuntime
import ZeroMQ

/// A socket that sends any frames. Belongs to one thread.
final class Peer {
    /// A producer's secret. By it the door recognises the owner of a producer's name.
    static let secret = "a secret of a test"

    let socket: ZMQSocket
    private let poller = ZMQPoller()
    private let message = ZMQMultipart()

    init(_ context: ZMQContext, _ type: ZMQSocketType = .dealer) throws {
        socket = try ZMQSocket(context, type, ZMQSocketOptions().with { $0.sendHighWaterMessages = 0 })
        poller.add(socket)
    }

    static func connected(to endpoint: String, _ context: ZMQContext, _ type: ZMQSocketType = .dealer) throws -> Peer {
        let peer = try Peer(context, type)
        try peer.socket.connect(endpoint)
        return peer
    }

    func send(_ frames: [UInt8]...) throws { try send(frames) }

    func send(_ frames: [[UInt8]]) throws {
        guard try socket.send(frames) == .sent else { throw HostTestError("no connection to send on") }
    }

    private var copies: [[UInt8]] { (0..<message.count).map(message.bytes(at:)) }

    /// Waits for the next message.
    func receive(within limit: Duration = .seconds(10)) throws -> [[UInt8]] {
        let end = ContinuousClock.now + limit
        while .now < end {
            _ = try poller.poll(timeoutMilliseconds: 100)
            if try socket.receive(into: message, wait: false) == .received { return copies }
        }
        throw HostTestError("no answer in \(limit)")
    }

    /// Reads messages until the condition is met. Then reads one more message if one is waiting.
    ///
    /// - Parameters:
    ///   - what: The condition in words.
    ///   - onMessage: Called with each message that is read.
    func wait(
        for what: String = "the condition", until isMet: () throws -> Bool, onMessage: ([[UInt8]]) -> Void = { _ in }
    ) throws {
        let end = ContinuousClock.now + .seconds(30)
        var isDone = false
        while !isDone {
            guard .now < end else { throw HostTestError("timed out waiting for \(what)") }
            isDone = try isMet()
            _ = try poller.poll(timeoutMilliseconds: isDone ? 0 : 20)
            if try socket.receive(into: message, wait: false) == .received { onMessage(copies) }
        }
    }

    /// Waits for the next message whose control frame is of that type, and returns that frame's text.
    func receive(_ type: String, within limit: Duration = .seconds(10)) throws -> String {
        let end = ContinuousClock.now + limit
        while .now < end {
            for frame in try receive(within: limit) {
                let text = String(decoding: frame, as: UTF8.self)
                if text.hasPrefix("{\"type\":\"\(type)\"") { return text }
            }
        }
        throw HostTestError("no \(type) in \(limit)")
    }
}

extension [UInt8] {
    init(text: String) { self = Array(text.utf8) }
}
