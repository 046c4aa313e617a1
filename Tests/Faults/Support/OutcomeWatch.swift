import JSON
import PipelineRuntime
import ZeroMQ

/// Reads deliver's log over its link, as any consumer does. Only one thread may use it.
final class OutcomeWatch {
    /// The push's sequence and the device of every accepted push.
    private(set) var accepted: Set<String> = []
    /// The push's sequence and the device of every repeated `accepted` outcome.
    private(set) var repeated: [String] = []
    private let client: LinkClient
    private let poller = ZMQPoller()
    private var parser = JSONParser()

    init(_ context: HostContext, endpoint: String) throws {
        let socket = try ToolSocket.make(nil, context)
        client = try LinkClient(socket, endpoint: endpoint, name: "watch", after: 0)
        poller.add(client.socket)
    }

    /// Reads the events that have come. Waits up to `wait` if none has come yet.
    func follow(wait: Duration) throws {
        _ = try poller.poll(timeoutMilliseconds: Int(wait / .milliseconds(1)))
        while let arrival = try client.receive() {
            guard case .batch(_, _, _, let lines) = arrival else { continue }
            for line in Lines(lines) { try note(line) }
            try client.grant(lines.count)
        }
        try client.tick(at: .now)
    }

    private func note(_ line: UnsafeRawBufferPointer) throws {
        let outcome = try parser.parse(line)
        guard outcome.text("outcome") == "accepted", let push = outcome.natural("push"),
            let device = outcome.text("device")
        else { return }
        if !accepted.insert("\(push) \(device)").inserted { repeated.append("\(push) \(device)") }
    }
}
