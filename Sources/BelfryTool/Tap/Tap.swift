import PipelineRuntime
import ZeroMQ

/// Prints a stage's events as they come. Needs a thread of its own.
struct Tap: Sendable {
    let plan: HostPlan
    let context: HostContext
    let start: TapStart
    let limit: UInt64
    let printsEventsOnly: Bool
    /// How long the stage may take to answer a question about its health. The wait for events has no limit.
    let timeout: Duration

    func run() throws {
        let printer = EventPrinter.standard(eventsOnly: printsEventsOnly)
        var state = State(start: start, eventsLeft: limit)
        while state.eventsLeft > 0 {
            do { try follow(printer, &state) } catch LinkError.refused(_, "link.after", _) {
                state.start = try startAtEnd(insteadOf: state.start)
            } catch LinkError.refused(_, "link.gone", _) {
                // Retention removed events; firstSequence(from:) finds the new beginning.
                continue
            }
        }
    }

    private struct State {
        var start: TapStart
        var eventsLeft: UInt64
    }

    private func follow(_ printer: EventPrinter, _ state: inout State) throws {
        let after = try firstSequence(from: state.start) - 1
        let socket = try ToolSocket.make(plan, context)
        defer { socket.close() }
        let client = try LinkClient(socket, endpoint: plan.bind, name: "tap", after: after)
        let poller = ZMQPoller()
        poller.add(socket)
        // While the stage writes no events, the tap prints nothing. Without polling standard output, the tap would not
        // notice that the reader of its output has gone.
        let output = poller.add(fileDescriptor: StandardDescriptors.current.output, [])
        while state.eventsLeft > 0 {
            _ = try poller.poll(timeoutMilliseconds: 100)
            if poller.readiness(at: output).contains(.failed) { throw OutputError.closed }
            while state.eventsLeft > 0, let arrival = try client.receive() {
                try show(arrival, printer, client, &state)
            }
            try client.tick(at: .now)
        }
        try client.close()
    }

    private func show(
        _ arrival: LinkClient.Arrival, _ printer: EventPrinter, _ client: LinkClient, _ state: inout State
    ) throws {
        guard case .batch(let first, let count, let now, let lines) = arrival else { return }
        let shown = min(state.eventsLeft, UInt64(count))
        try printer.print(Lines(lines).prefix(Int(shown)), first: first, now: now)
        state = State(start: .sequence(first + shown), eventsLeft: state.eventsLeft - shown)
        try client.grant(lines.count)
    }

    private func askHealth() throws -> StageHealth {
        let probe = try HealthProbe(plan, context)
        let deadline = ContinuousClock.now + timeout
        while .now < deadline {
            let wait = min(Duration.milliseconds(200), deadline - .now)
            if let health = try probe.ask(timeout: wait).flatMap(StageHealth.init) { return health }
            if let refusal = try probe.refusal(onlyIfCertain: true) { throw refusal }
        }
        throw try probe.refusal(onlyIfCertain: false) ?? LinkError.silent(endpoint: plan.bind, waited: timeout)
    }

    /// The new start after the stage has refused a start that is beyond the end of its log.
    ///
    /// - Throws: ``ToolFailure`` with status 66 if the user gave the refused start; ``LinkError`` if the stage does not
    ///   answer or rejects the key.
    private func startAtEnd(insteadOf refused: TapStart) throws -> TapStart {
        let health = try askHealth()
        if case .sequence(let sequence) = refused, refused == start {
            throw ToolFailure(
                .noInput,
                "\(plan.stage): there is no event \(sequence) yet: log \(health.log) ends with \(health.last); use --from "
                    + "\(health.last + 1) or --from end for new events")
        }
        // The stage lost events that were not durable, so the log is shorter now.
        StandardError.write("\(plan.stage): log \(health.log) ends with \(health.last); continuing at the log's end")
        return .end
    }

    /// The sequence of the first event to print. If retention removed that event, the first sequence that the log still
    /// has.
    ///
    /// - Throws: ``LinkError`` if the stage does not answer or rejects the key.
    private func firstSequence(from start: TapStart) throws -> UInt64 {
        let health = try askHealth()
        switch start {
        case .end: return health.last + 1
        case .sequence(let sequence) where sequence < health.first:
            StandardError.write(
                "\(plan.stage): retention removed the events \(sequence) to \(health.first - 1); beginning at \(health.first)"
            )
            return health.first
        case .sequence(let sequence): return sequence
        }
    }
}
