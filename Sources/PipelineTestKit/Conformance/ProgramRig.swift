import Events
import Foundation
import Glibc
import JSON
import PipelineRuntime
import Time
import ZeroMQ

/// The host's side of a plugin program's link. Belongs to one thread.
final class ProgramRig {
    /// A message from the program.
    struct Message {
        var type: String?
        var through: UInt64?
        var control: String
        var version: UInt64?
        var name: String?
        /// The lines of the second frame; nil if the message has only one frame.
        var lines: [String]?
        /// The mistake in the lines; nil if they are correct.
        var fault: String?
    }

    let child: ChildProcess
    private let path: String
    private let socket: ZMQSocket
    private let poller = ZMQPoller()
    private let message = ZMQMultipart()
    private var parser = JSONParser(limits: JSONLimits(bytesMax: 64 << 10, depthMax: 8))
    private var peer: [UInt8]?
    private let limit: Duration
    /// The time of all batches. It is always the same, so that outputs do not depend on how events are cut into
    /// batches.
    private let now: Instant
    private let log = LogIdentity(seed: "conformance", name: "upstream")

    /// Starts the program.
    ///
    /// - Parameter limit: How long the start and each answer may take.
    init(_ command: [String], directory: String?, now: Instant, limit: Duration) throws {
        (self.now, self.limit) = (now, limit)
        socket = try ZMQSocket(try HostContext().zmq, .router)
        poller.add(socket)
        path = NSTemporaryDirectory() + "belfry-" + UUID().uuidString.prefix(8)
        try socket.bind("ipc://" + path)
        child = try ChildProcess(
            command, directory: directory,
            environment: ["BELFRY_LINK": "ipc://" + path, "BELFRY_STAGE": "conformance"])
    }

    deinit {
        child.signal(SIGKILL)
        unlink(path)
    }

    // MARK: Sending

    /// Waits for `open`, and answers it.
    func open(after: UInt64 = 0) throws -> Message {
        guard let open = try next(within: limit) else {
            throw RuleViolation("the program has not opened the link in BELFRY_LINK within \(limit)")
        }
        guard open.type == "open" else {
            throw RuleViolation("the first message is not \"open\" but \(open.control.excerpt)")
        }
        try send([LinkFrame.welcome(log: "upstream", identity: log, last: after, after: after)])
        return open
    }

    func send(_ frames: [[UInt8]]) throws {
        guard try socket.send([peer ?? []] + frames, wait: false) == .sent else { throw RuleViolation(textOfEnd()) }
    }

    func sendBatch(_ events: ArraySlice<SampleEvent>, first: UInt64) throws {
        let lines = events.map { $0.line + "\n" }.joined()
        try send([LinkFrame.batch(first: first, count: events.count, now: now), Array(lines.utf8)])
    }

    /// Sends a batch and returns the lines of the answer.
    func outputs(of events: ArraySlice<SampleEvent>, first: UInt64) throws -> [String] {
        try sendBatch(events, first: first)
        return try answer(through: first + UInt64(events.count) - 1)
    }

    func answer(through last: UInt64) throws -> [String] {
        guard let answer = try next(within: limit, answering: last) else {
            throw RuleViolation("the batch through \(last) is not answered within \(limit)")
        }
        guard answer.type == "outputs" else {
            throw RuleViolation(
                "the answer to the batch through \(last) is not \"outputs\" but \(answer.control.excerpt)")
        }
        guard let through = answer.through else {
            throw RuleViolation("the answer to the batch through \(last) has no valid member \"through\"")
        }
        guard through == last else {
            throw RuleViolation("the answer to the batch through \(last) has outputs through \(through)")
        }
        if let fault = answer.fault {
            throw RuleViolation("the answer to the batch through \(last) is wrong: \(fault)")
        }
        return answer.lines ?? []
    }

    // MARK: Receiving

    /// The next message; nil if none comes in time.
    func next(within limit: Duration, answering last: UInt64? = nil) throws -> Message? {
        let end = ContinuousClock.now + limit
        while try socket.receive(into: message, wait: false) == .empty {
            if child.exited != nil {
                throw RuleViolation(textOfEnd(last.map { " instead of answering the batch through \($0)" } ?? ""))
            }
            guard .now < end else { return nil }
            _ = try poller.poll(timeoutMilliseconds: 20)
        }
        guard message.count >= 2 else { throw RuleViolation("the program sent a message without a control frame") }
        peer = message.bytes(at: 0)
        return try parsed()
    }

    private func textOfEnd(_ instead: String = "") -> String {
        "the program \(child.exited?.text ?? "left the link")\(instead)"
    }

    private func parsed() throws -> Message {
        let text = String(decoding: message.bytes(at: 1), as: UTF8.self)
        var parsed = Message(control: text)
        do throws(JSONError) {
            let control = try parser.parse(message[1])
            (parsed.type, parsed.through) = (control.text(.type), control.natural("through"))
            (parsed.version, parsed.name) = (control.natural("protocol"), control.text("name"))
            let lines = message.count > 2 ? message[2] : UnsafeRawBufferPointer(start: nil, count: 0)
            parsed.fault = LinkFrame.fault(ofOutputs: control, lines)
        } catch { throw RuleViolation("a control frame is not JSON: \(text.excerpt): \(error)") }
        guard message.count > 2 else { return parsed }
        let bytes = message[2]
        parsed.lines = Lines(bytes).map { String(decoding: $0, as: UTF8.self) }
        return parsed
    }

    /// Waits for the end of the program, and ignores its messages.
    ///
    /// - Returns: Whether the program ended in time.
    func ends(within limit: Duration) throws -> Bool {
        let end = ContinuousClock.now + limit
        while child.exited == nil {
            guard .now < end else { return false }
            _ = try socket.receive(into: message, wait: false)
            _ = try poller.poll(timeoutMilliseconds: 20)
        }
        return true
    }
}
