import PipelineKit
import PipelineRuntime
import Time
import ZeroMQ

/// A ROUTER in place of the stage `gate`, the upstream of the stage `relay`. It answers as a test wants. Belongs to one
/// thread.
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
    func waitForOpen() throws -> String {
        while true {
            let frames = try peer.receive()
            let text = String(decoding: frames[1], as: UTF8.self)
            guard text.hasPrefix(#"{"type":"open""#) else { continue }
            consumer = frames[0]
            return text
        }
    }

    /// Waits until the host has that many events in its log or has stopped. Meanwhile the socket stays open. If it were
    /// closed, the messages that the host has not read yet would be lost.
    func wait(untilWritten written: UInt64, in host: RunningHost) throws {
        try peer.wait(for: "\(written) events or the end") {
            host.host.control.report.last >= written || host.host.control.report.phase == .stopped
        }
    }

    func waitUntilStopped(_ host: RunningHost) throws { try wait(untilWritten: .max, in: host) }

    /// See ``Peer/wait(for:until:onMessage:)``.
    func wait(for what: String, until isMet: () throws -> Bool) throws { try peer.wait(for: what, until: isMet) }

    func send(_ frames: [UInt8]...) throws { try peer.send([consumer] + frames) }

    func send(_ frames: [[UInt8]]) throws { try peer.send([consumer] + frames) }

    /// Sends a message to a consumer that may have disconnected.
    func sendIfConnected(_ frames: [UInt8]...) throws { _ = try peer.socket.send([consumer] + frames) }

    func welcome(after: UInt64, last: UInt64, identity: LogIdentity = FakeUpstream.identity) throws {
        try send(LinkFrame.welcome(log: "gate", identity: identity, last: last, after: after))
    }

    func sendBatch(first: UInt64, count: Int, _ lines: String) throws {
        try send(LinkFrame.batch(first: first, count: count, now: Instant(microseconds: 1)), Array(text: lines))
    }
}
