import EventLog
import PipelineRuntime
import Synchronization
import Time
import ZeroMQ

/// One hop: a host's end that appends batches and serves them, and a consumer's that appends them to a log of its own
/// and grants credit for them. Two threads, each with its own ZeroMQ context, so that the bytes go through the kernel.
struct LinkBench: Sendable {
    let events: Int
    let batch: Int
    let folder: String
    let interruption: Interruption

    struct Measure: Sendable {
        var transport: String
        var perSecond: Double
        /// The same bytes from PUSH to PULL, without logs.
        var baseline: Double
        var ratio: Double { perSecond / baseline }
    }

    private var batches: Int { max(1, events / batch) }

    func run(_ transport: String) async throws -> Measure {
        let endpoint =
            transport == "tcp" ? "tcp://127.0.0.1:*" : "ipc://\(folder)/link-\(UInt32.random(in: 0 ..< .max))"
        let hop = try await seconds(endpoint, serve: serve, consume: consume)
        let plain = try await seconds(endpoint, serve: push, consume: pull)
        let total = Double(batches * batch)
        return Measure(transport: transport, perSecond: total / hop, baseline: total / plain)
    }

    /// What both ends share.
    private final class Meeting: Sendable {
        let endpoint = Mutex<String?>(nil)
        let isOver = Atomic(false)

        func wait(_ interruption: Interruption) throws -> String {
            while !isOver.load(ordering: .acquiring) {
                if let endpoint = endpoint.withLock({ $0 }) { return endpoint }
                try interruption.check()
            }
            throw ToolFailure(.software, "the other end of the link has ended")
        }
    }

    private typealias End = @Sendable (String, Meeting) throws -> Void

    /// How long the consuming end took from its first batch to its last.
    private func seconds(
        _ endpoint: String, serve: @escaping End, consume: @escaping @Sendable (String, Meeting) throws -> Double
    ) async throws -> Double {
        let meeting = Meeting()
        async let served: Void = SocketThread.run(name: "serve") {
            do { try serve(endpoint, meeting) } catch {
                meeting.isOver.store(true, ordering: .releasing)
                throw error
            }
        }
        let seconds = try await SocketThread.run(name: "consume") {
            defer { meeting.isOver.store(true, ordering: .releasing) }
            return try consume(try meeting.wait(interruption), meeting)
        }
        try await served
        return seconds
    }

    // MARK: The link

    private func serve(_ endpoint: String, _ meeting: Meeting) throws {
        let context = try ZMQContext()
        let socket = try ZMQSocket(context, .router, ZMQSocketOptions().with { $0.sendHighWaterMessages = 0 })
        try socket.bind(endpoint)
        let log = try newLog("upstream")
        let server = LinkServer(socket: socket, log: log, directory: log.directory)
        meeting.endpoint.withLock { $0 = socket.lastEndpoint }
        var workload = Workload(seed: 1, subscriptions: 10_000)
        let lines = workload.lines(batch)
        let poller = ZMQPoller()
        poller.add(socket)
        while !meeting.isOver.load(ordering: .acquiring) {
            let isReady = isReady(server, log, lines.count)
            _ = try poller.poll(timeoutMilliseconds: isReady ? 0 : 50)
            try server.receive()
            if isReady { try append(lines, log, server) }
            _ = try server.serve()
            try interruption.check()
        }
        try log.close()
    }

    private func isReady(_ server: LinkServer, _ log: EventLogWriter, _ bytes: Int) -> Bool {
        guard log.lastSequence < UInt64(batches * batch), let consumer = server.consumerStates.first else {
            return false
        }
        return consumer.next == log.nextSequence && consumer.credit >= bytes
    }

    private func append(_ lines: [UInt8], _ log: EventLogWriter, _ server: LinkServer) throws {
        let now = max(Instant.wall(), log.lastNow)
        try lines.withUnsafeBytes { bytes in
            let first = try log.append(bytes, count: batch, now: now)
            try server.publish(first: first, count: batch, now: now, body: bytes)
        }
    }

    private func consume(_ endpoint: String, _ meeting: Meeting) throws -> Double {
        let context = try ZMQContext()
        let options = ZMQSocketOptions().with { $0.receiveHighWaterMessages = 0 }
        let client = try LinkClient(ZMQSocket(context, .dealer, options), endpoint: endpoint, name: "bench", after: 0)
        let log = try newLog("downstream")
        let poller = ZMQPoller()
        poller.add(client.socket)
        var began = ContinuousClock.now
        while log.lastSequence < UInt64(batches * batch) {
            _ = try poller.poll(timeoutMilliseconds: 20)
            while let arrival = try client.receive() {
                guard case .batch(let first, let count, let now, let lines) = arrival else { continue }
                if first == 1 { began = .now }
                _ = try log.append(
                    lines, count: count, cursor: Cursor(["upstream": first + UInt64(count) - 1]), now: now)
                try client.grant(lines.count)
            }
            try client.tick(at: .now)
            try check(meeting)
        }
        try log.close()
        return (ContinuousClock.now - began) / .seconds(1)
    }

    private func newLog(_ name: String) throws -> EventLogWriter {
        try PlainFile.remove(folder + "/" + name)
        return try EventLogWriter(EventLogOptions(directory: folder, name: name, sync: .interval(.milliseconds(50))))
    }

    private func check(_ meeting: Meeting) throws {
        try interruption.check()
        if meeting.isOver.load(ordering: .acquiring) { throw ToolFailure(.software, "the link's server has ended") }
    }

    // MARK: The baseline

    private func push(_ endpoint: String, _ meeting: Meeting) throws {
        let socket = try ZMQSocket(ZMQContext(), .push, RelaySocket.options)
        try socket.bind(endpoint)
        meeting.endpoint.withLock { $0 = socket.lastEndpoint }
        var workload = Workload(seed: 1, subscriptions: 10_000)
        let lines = workload.lines(batch)
        let poller = ZMQPoller()
        poller.add(socket, .writable)
        for _ in 0..<batches {
            while try socket.send([lines], wait: false) == .full {
                _ = try poller.poll(timeoutMilliseconds: 50)
                try check(meeting)
            }
        }
    }

    private func pull(_ endpoint: String, _ meeting: Meeting) throws -> Double {
        let socket = try ZMQSocket(ZMQContext(), .pull, RelaySocket.options)
        try socket.connect(endpoint)
        let message = ZMQMultipart()
        let poller = ZMQPoller()
        poller.add(socket)
        var began = ContinuousClock.now
        var taken = 0
        while taken < batches {
            _ = try poller.poll(timeoutMilliseconds: 50)
            while try socket.receive(into: message, wait: false) == .received {
                if taken == 0 { began = .now }
                taken += 1
            }
            try check(meeting)
        }
        return (ContinuousClock.now - began) / .seconds(1)
    }
}
