import Foundation
import Testing

@testable import ZeroMQ

/// The time limit of one poll, in milliseconds. It is long enough for a loaded machine, and short enough that a hang is
/// noticed.
let testTimeoutMilliseconds = 20_000

struct TimedOut: Error {}

extension ZMQSocket {
    /// The next message, copied; throws `TimedOut` instead of hanging.
    func next() throws -> [[UInt8]] {
        let message = ZMQMultipart()
        let poller = ZMQPoller()
        poller.add(self)
        guard try poller.poll(timeoutMilliseconds: testTimeoutMilliseconds) == 1 else { throw TimedOut() }
        guard try receive(into: message, wait: false) == .received else { throw TimedOut() }
        return message.copies
    }
}

extension ZMQMultipart {
    /// All frames, copied.
    var copies: [[UInt8]] { (0..<count).map(bytes(at:)) }
}

extension ZMQMonitor {
    /// The next event of one of these kinds; throws `TimedOut` instead of hanging.
    func wait(for kinds: Events) throws -> Event {
        let poller = ZMQPoller()
        poller.add(socket)
        while try poller.poll(timeoutMilliseconds: testTimeoutMilliseconds) == 1 {
            if let event = try next(wait: false), kinds.contains(event.kind) { return event }
        }
        throw TimedOut()
    }
}

/// A ZeroMQ transport.
enum Wire: CaseIterable {
    case inproc, ipc, tcp

    /// An endpoint to which no socket is bound yet. libzmq replaces `*`.
    var newEndpoint: String {
        switch self {
        case .inproc: "inproc://\(UUID())"
        case .ipc: "ipc://*"
        case .tcp: "tcp://127.0.0.1:*"
        }
    }
}

/// A bound and a connected socket.
struct Pair {
    let context: ZMQContext
    let bound: ZMQSocket
    let connected: ZMQSocket

    init(
        _ wire: Wire = .inproc, _ boundType: ZMQSocketType = .pair, _ connectedType: ZMQSocketType = .pair,
        bound boundOptions: ZMQSocketOptions = ZMQSocketOptions(),
        connected connectedOptions: ZMQSocketOptions = ZMQSocketOptions()
    ) throws {
        context = try ZMQContext()
        bound = try ZMQSocket(context, boundType, boundOptions)
        connected = try ZMQSocket(context, connectedType, connectedOptions)
        try bound.bind(wire.newEndpoint)
        try connected.connect(bound.lastEndpoint)
    }
}

func ascii(_ text: String) -> [UInt8] { Array(text.utf8) }
