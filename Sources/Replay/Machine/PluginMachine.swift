import Events
import Foundation
import Glibc
import JSON
import PipelineKit
import PipelineRuntime
import Synchronization
import Time
import ZeroMQ

/// Runs a plugin's program over the link protocol, as the host does: sends batches and receives outputs.
///
/// A plugin has no deadlines, and its outputs answer a whole batch, not a single event.
final class PluginMachine: StageMachine {
    let output = MachineOutput()
    var deadline: Instant? { nil }
    private let stage: String
    private let context: StageContext
    private let replyTimeout: Duration
    private let socket: ZMQSocket
    private let poller = ZMQPoller()
    private let program: PluginProgram
    private let message = ZMQMultipart()
    private var frameParser = JSONParser(limits: JSONLimits(bytesMax: 64 << 10, depthMax: 8))
    private var outputs = ProgramOutputs()
    private var peer: [UInt8]?

    init(_ stage: PipelineStage, context: StageContext, replyTimeout: Duration) throws {
        (self.stage, self.context, self.replyTimeout) = (stage.name, context, replyTimeout)
        socket = try ZMQSocket(try HostContext().zmq, .router)
        poller.add(socket)
        let path = NSTemporaryDirectory() + "belfry-" + UUID().uuidString.prefix(8)
        try socket.bind("ipc://" + path)
        program = try PluginProgram(stage, path: path)
    }

    func advance(to time: Instant) {}

    func receive(_ lines: UnsafeRawBufferPointer, first: UInt64, at now: Instant) throws {
        let count = Lines(lines).reduce(0) { count, _ in count + 1 }
        let last = first + UInt64(count) - 1
        if peer == nil { try open(after: first - 1) }
        try send([LinkFrame.batch(first: first, count: count, now: now), Array(lines)])
        let reply = try next(doing: "answer the events \(first) to \(last)")
        guard reply.type == "outputs", reply.through == last else {
            let sent = reply.type.map { "`\($0)`" + (reply.through.map { " through \($0)" } ?? "") }
            throw failure("sent \(sent ?? "a frame without `type`"); expected `outputs` through \(last)")
        }
        if message.count > 2 {
            outputs.pass(message[2], answering: first...last, of: context.upstreamName, into: &output.outbox)
        }
        output.mark(last, at: now)
    }

    private func open(after: UInt64) throws {
        let first = try next(doing: "open the link in BELFRY_LINK").type
        guard first == "open" else {
            throw failure("sent \(first.map { "`\($0)`" } ?? "a frame without `type`") first; expected `open`")
        }
        peer = message.bytes(at: 0)
        try send([LinkFrame.welcome(log: context.upstreamName, identity: context.upstream, last: after, after: after)])
    }

    private func send(_ frames: [[UInt8]]) throws {
        guard try socket.send([peer ?? []] + frames, wait: false) == .sent else {
            throw failure(program.exit ?? "closed its link")
        }
    }

    private func next(doing: String) throws -> (type: String?, through: UInt64?) {
        let limit = ContinuousClock.now + replyTimeout
        while try socket.receive(into: message, wait: false) == .empty {
            if let exit = program.exit { throw failure("\(exit) when it had to \(doing)") }
            guard .now < limit else { throw failure("did not \(doing) within \(replyTimeout)") }
            _ = try poller.poll(timeoutMilliseconds: 50)
        }
        guard message.count >= 2 else { throw failure("sent a message without a control frame") }
        do throws(JSONError) {
            let control = try frameParser.parse(message[1])
            return (control.text(.type), control.natural("through"))
        } catch { throw failure("sent a control frame that is not JSON: \(error)") }
    }

    private func failure(_ what: String) -> ReplayError { .worker(stage: stage, "its program \(what)") }
}

/// The process of a plugin. It gets SIGTERM when this object is released.
private final class PluginProgram {
    private let path: String
    private let child: ChildProcess

    /// - Parameter path: The link's Unix socket.
    init(_ stage: PipelineStage, path: String) throws {
        self.path = path
        child = try ChildProcess(
            stage.command, directory: stage.directory,
            environment: ["BELFRY_LINK": "ipc://" + path, "BELFRY_STAGE": stage.name])
    }

    deinit {
        child.signal(SIGTERM)
        unlink(path)
    }

    var exit: String? { child.exited?.text }
}
