import PipelineRuntime
import StageTool
import Synchronization
import Time
import ZeroMQ

/// A ROUTER in place of an ingest stage's door. Belongs to one thread.
final class FakeDoor {
    private let peer: Peer
    private var producer: [UInt8] = []

    init(_ endpoint: String, _ context: ZMQContext) throws {
        peer = try Peer(context, .router)
        try peer.socket.bind(endpoint)
    }

    /// Waits for a frame of this type that contains `part`.
    func waitFor(_ type: String, containing part: String = "") throws {
        while true {
            let frames = try peer.receive()
            producer = frames[0]
            let text = String(decoding: frames[1], as: UTF8.self)
            if text.hasPrefix(#"{"type":"\#(type)""#), part.isEmpty || text.contains(part) { return }
        }
    }

    func send(_ text: String) throws { try peer.send(producer, Array(text: text)) }

    func welcome(after: UInt64, refused: UInt64) throws {
        let identity = LogIdentity(seed: "fake", name: "changes")
        try peer.send(
            producer, LinkFrame.welcome(log: "changes", identity: identity, last: 4, after: after, refused: refused))
    }

    /// Keeps the socket open until `isDone` returns true.
    func wait(until isDone: () -> Bool) throws { try peer.wait(until: isDone) }

    /// Runs `body` with a producer whose door answers its first `hello`, and everything after it, as `script` says.
    static func answering<Result: Sendable>(
        _ script: @escaping @Sendable (FakeDoor) throws -> Void,
        to body: @escaping @Sendable (Producer) throws -> Result
    ) async throws -> Result {
        let context = try HostContext()
        let endpoint = "inproc://door"
        let isDone = Atomic(false)
        async let answering: Void = SocketThread.run(name: "door") {
            let door = try FakeDoor(endpoint, context.zmq)
            try door.waitFor("hello")
            try script(door)
            try door.wait { isDone.load(ordering: .relaxed) }
        }
        let result = try await SocketThread.run(name: "producer") {
            defer { isDone.store(true, ordering: .relaxed) }
            return try body(
                try Producer(
                    try ZMQSocket(context.zmq, .dealer), endpoint: endpoint, name: "p", secret: Peer.secret))
        }
        try await answering
        return result
    }
}
