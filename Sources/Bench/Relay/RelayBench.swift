import PipelineRuntime
import ZeroMQ

/// Processes in a row that only pass the same bytes on over ZeroMQ: what the machine allows, without any work.
struct RelayBench: Sendable {
    let lines: Int
    let batch: Int
    let interruption: Interruption
    var hops = 5

    struct Measure: Sendable {
        var batch: Int
        var lines: Int
        var seconds: Double
        var perSecond: Double { Double(lines) / seconds }
    }

    /// - Parameter folder: Where the sockets lie.
    func run(in folder: String) async throws -> Measure {
        let messages = max(1, lines / batch)
        let failure = FirstFailure()
        let supervisor = Supervisor(programs(folder, messages)) { failure.take($0) }
        async let running = supervisor.run()
        do {
            let seconds = try await SocketThread.run(name: "relay") {
                try drive(folder, messages) {
                    try interruption.check()
                    try failure.check()
                }
            }
            supervisor.stop()
            _ = try await running
            return Measure(batch: batch, lines: messages * batch, seconds: seconds)
        } catch {
            supervisor.stop()
            _ = try await running
            throw error
        }
    }

    private func endpoint(_ folder: String, _ hop: Int) -> String { "ipc://\(folder)/relay-\(batch)-\(hop)" }

    private func programs(_ folder: String, _ messages: Int) -> [Supervisor.Program] {
        (0..<hops).map { hop in
            let ends = ["--from", endpoint(folder, hop), "--to", endpoint(folder, hop + 1)]
            let count = hop == hops - 1 ? ["--count", "\(messages)"] : []
            return Supervisor.Program(
                stage: "relay \(hop + 1)", command: [SiblingProgram.running, "relay-hop"] + ends + count)
        }
    }

    /// Times from when the first message has passed every process, so that starting them does not count.
    private func drive(_ folder: String, _ messages: Int, check: () throws -> Void) throws -> Double {
        let context = try ZMQContext()
        let end = try ZMQSocket(context, .pull, RelaySocket.options)
        try end.bind(endpoint(folder, hops))
        let start = try ZMQSocket(context, .push, RelaySocket.options)
        try start.connect(endpoint(folder, 0))
        var workload = Workload(seed: 1, subscriptions: 10_000)
        let lines = workload.lines(batch)
        try send(lines, start, check)
        try wait(for: end, check)
        let began = ContinuousClock.now
        for _ in 0..<messages { try send(lines, start, check) }
        try wait(for: end, check)
        return (ContinuousClock.now - began) / .seconds(1)
    }

    private func wait(for end: ZMQSocket, _ check: () throws -> Void) throws {
        let poller = ZMQPoller()
        poller.add(end)
        while try poller.poll(timeoutMilliseconds: 100) == 0 { try check() }
        _ = try end.receive(into: ZMQMultipart())
    }

    private func send(_ lines: [UInt8], _ socket: ZMQSocket, _ check: () throws -> Void) throws {
        while try socket.send([lines], wait: false) == .full {
            try check()
            let poller = ZMQPoller()
            poller.add(socket, .writable)
            _ = try poller.poll(timeoutMilliseconds: 100)
        }
    }
}
