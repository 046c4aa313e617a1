import PipelineKit
import PipelineRuntime
import Time
import ZeroMQ

/// A ROUTER in place of a relay's upstream, which answers as a test wants. Belongs to one thread.
final class FakeUpstream {
    static let identity = LogIdentity(seed: "fake", name: "gate")
    private let peer: Peer
    private var consumer: [UInt8] = []

    init(_ endpoint: String, _ context: ZMQContext) throws {
        peer = try Peer(context, .router)
        try peer.socket.bind(endpoint)
    }

    /// Waits for the consumer to open the link.
    ///
    /// - Returns: The `open` frame.
    @discardableResult
    func opened() throws -> String {
        while true {
            let frames = try peer.hear()
            let text = String(decoding: frames[1], as: UTF8.self)
            guard text.hasPrefix(#"{"type":"open""#) else { continue }
            consumer = frames[0]
            return text
        }
    }

    /// Stays until the host has that many events in its log or has ended, since unread messages are lost with this socket.
    func stay(until written: UInt64, in host: RunningHost) throws {
        try peer.stay(for: "\(written) events or the end") {
            host.host.control.report.last >= written || host.host.control.report.phase == .stopped
        }
    }

    /// Reads messages until the condition is met.
    func stay(for what: String, until isMet: () throws -> Bool) throws { try peer.stay(for: what, until: isMet) }

    func say(_ frames: [UInt8]...) throws { try peer.say([consumer] + frames) }

    func say(_ frames: [[UInt8]]) throws { try peer.say([consumer] + frames) }

    /// Sends a message to a consumer that may have disconnected.
    func sayIfConnected(_ frames: [UInt8]...) throws { _ = try peer.socket.send([consumer] + frames) }

    func welcome(after: UInt64, last: UInt64, identity: LogIdentity = FakeUpstream.identity) throws {
        try say(LinkFrame.welcome(log: "gate", identity: identity, last: last, after: after))
    }

    func batch(_ first: UInt64, _ count: Int, _ lines: String) throws {
        try say(LinkFrame.batch(first: first, count: count, now: Instant(microseconds: 1)), Array(text: lines))
    }
}
