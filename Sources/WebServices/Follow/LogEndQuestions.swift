import JSON
import PipelineRuntime
import ZeroMQ

/// Asks ingest for the changes log's last sequence whenever reads wait for it. Runs on a thread of its own.
final class LogEndQuestions {
    private let barrier: ReadBarrier
    private let plan: HostPlan
    private let context: HostContext
    private let wake: WakeSignal
    private let message = ZMQMultipart()
    private var parser = JSONParser(limits: JSONLimits(bytesMax: 1 << 20))
    private var socket: ClientSocket
    private var poller = ZMQPoller()
    /// Finds the machine that runs ingest; nil if it cannot move.
    private let watch: OwnerWatch?
    private var endpoint: String

    /// How long an answer may take. After this time the question is asked again, if reads still wait.
    private static let answerTimeout = Duration.milliseconds(500)

    init(_ barrier: ReadBarrier, _ plan: HostPlan, _ context: HostContext, _ wake: WakeSignal) throws {
        (self.barrier, self.plan, self.context, self.wake) = (barrier, plan, context, wake)
        watch = try plan.ownerWatch()
        endpoint = plan.bind
        socket = try ToolSocket.make(plan, context)
        try connect()
    }

    /// Returns when the gateway stops.
    func run(while mayRun: () -> Bool) throws {
        defer { socket.close() }
        while mayRun() {
            wake.clear()
            barrier.expire(at: .now)
            let reads = barrier.beginQuestion()
            if reads > 0 {
                try ask(while: mayRun)
                LoadPause.pause(afterRequests: reads)
            } else {
                _ = try poller.poll(timeoutMilliseconds: 100)
            }
        }
    }

    /// Asks one question, and waits for its answer. If no answer comes in time, connects a new socket.
    private func ask(while mayRun: () -> Bool) throws {
        let deadline = ContinuousClock.now + Self.answerTimeout
        var isSent = false
        while mayRun() {
            barrier.expire(at: .now)
            guard currentEndpoint == endpoint else { return try reconnect() }
            if !isSent { isSent = try socket.send([LinkFrame.health()], wait: false) == .sent }
            if isSent, try socket.receive(into: message, wait: false) == .received {
                if let last = last() { barrier.handleAnswer(last: last) }
                return
            }
            guard .now < deadline else { return try reconnect() }
            _ = try socket.checkConnection(at: .now)
            _ = try poller.poll(timeoutMilliseconds: isSent ? 100 : 10)
            wake.clear()
        }
    }

    /// Connects a new socket. On the old socket, a late answer with an older sequence could be taken for the answer to
    /// the next question.
    private func reconnect() throws {
        socket.close()
        socket = try ToolSocket.make(plan, context)
        try connect()
    }

    private var currentEndpoint: String { plan.bind(on: watch?.owner()) ?? endpoint }

    private func connect() throws {
        endpoint = currentEndpoint
        try socket.connect(endpoint)
        poller = ZMQPoller()
        poller.add(socket)
        poller.add(wake)
    }

    private func last() -> UInt64? {
        do throws(JSONError) { return LogEnd(try parser.parse(message[0]))?.lastSequence } catch { return nil }
    }
}
