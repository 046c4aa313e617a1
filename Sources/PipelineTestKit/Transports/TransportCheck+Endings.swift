import PipelineKit

extension TransportCheck {
    func checkBeforeOpen() async throws {
        let transport = try make()
        let early = samples.batch(3, from: 3_000)
        try check(try await answers(of: transport, to: early), to: early)
        try await within(limit, "close") { await transport.close() }
    }

    func checkAfterClose() async throws {
        let transport = try make()
        try await transport.open()
        try checkAccepted(try await settle(samples.batch(3, from: 4_000), through: transport))
        for _ in 0..<2 { try await within(limit, "close") { await transport.close() } }
        let late = samples.batch(3, from: 4_100)
        let answers = try await answers(of: transport, to: late)
        try check(answers, to: late)
        try await checkArrived(late, answers)
        try await within(limit, "close") { await transport.close() }
    }

    func checkCloseAlone() async throws {
        let transport = try make()
        for _ in 0..<2 { try await within(limit, "close") { await transport.close() } }
    }

    func checkCancelledAtOnce() async throws {
        try await checkInterrupted(samples.batch(30, from: 5_000), isInFlight: false) { $1.cancel() }
    }

    func checkCancelledInFlight() async throws {
        try await checkInterrupted(samples.batch(30, from: 6_000)) { $1.cancel() }
    }

    func checkClosedInFlight() async throws {
        try await checkInterrupted(samples.batch(30, from: 7_000)) { transport, _ in
            try await within(limit, "close") { await transport.close() }
        }
    }

    private func checkInterrupted(
        _ batch: [Delivery], isInFlight: Bool = true,
        by interrupt: (any Transport, Task<[TransportAnswer], Never>) async throws -> Void
    ) async throws {
        try await whilePaused { transport in
            let delivery = Task { await transport.deliver(batch) }
            if isInFlight { try await waitUntilInFlight(batch) }
            try await interrupt(transport, delivery)
            try check(try await within(limit, "deliver") { await delivery.value }, to: batch, mayBeIncomplete: true)
        }
    }

    /// Pauses the peer for a while. Meanwhile the transport may answer that pushes are deferred. They are then
    /// delivered again, although the peer may already have them.
    func checkDeferred() async throws {
        try await withOpen { transport in
            let batch = samples.batch(30, from: 8_000)
            try await peer.pause()
            let settling = Task { try await settle(batch, through: transport) }
            _ = try await becomesTrue(within: min(limit, .seconds(3))) { try await hasArrived(batch) }
            try await peer.resume()
            let answers = try await settling.value
            try checkAccepted(answers)
            try await checkArrived(batch, answers)
        }
    }

    func checkResources() async throws {
        let rounds = 20
        try await deliverOnce(8_900)
        let before = ProcessResources()
        for round in 0..<rounds { try await deliverOnce(UInt64(9_000 + round)) }
        func excess() -> String? { ProcessResources().excess(over: before, allowing: rounds / 2) }
        let isReleased = try await becomesTrue(within: limit) { excess() == nil }
        guard !isReleased, let more = excess() else { return }
        throw RuleViolation("after \(rounds) closed transports the process has \(more)")
    }

    // MARK: Steps

    private func deliverOnce(_ sequence: UInt64) async throws {
        weak var kept: AnyObject?
        try await withOpen { transport in
            if type(of: transport) is AnyObject.Type { kept = transport as AnyObject }
            try checkAccepted(try await settle(samples.batch(1, from: sequence), through: transport))
        }
        if try await !becomesTrue(within: limit, { kept == nil }) {
            throw RuleViolation("a closed transport is still in memory")
        }
    }

    private func whilePaused(_ body: (any Transport) async throws -> Void) async throws {
        try await peer.pause()
        do { try await withOpen(body) } catch {
            try await peer.resume()
            throw error
        }
        try await peer.resume()
    }

    private func hasArrived(_ batch: [Delivery]) async throws -> Bool {
        let ids = Set(batch.map { samples.apnsID($0.id.push) })
        return try await peer.arrivals().contains { ids.contains($0) }
    }

    /// Waits until the first push arrives, at most a second and a half. The wait may end without an arrival, because
    /// some peers report a push only after they have answered it.
    private func waitUntilInFlight(_ batch: [Delivery]) async throws {
        _ = try await becomesTrue(within: min(limit, .milliseconds(1_500))) { try await hasArrived(batch) }
    }
}
