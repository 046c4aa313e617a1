import PipelineKit

extension TransportCheck {
    func checkBeforeOpen() async throws {
        let transport = try made()
        let early = maker.window(3, from: 3_000)
        try check(try await answers(of: transport, to: early), to: early)
        try await within(limit, "close") { await transport.close() }
    }

    func checkAfterClose() async throws {
        let transport = try made()
        try await transport.open()
        try checkAccepted(try await settle(maker.window(3, from: 4_000), through: transport))
        for _ in 0..<2 { try await within(limit, "close") { await transport.close() } }
        let late = maker.window(3, from: 4_100)
        let answers = try await answers(of: transport, to: late)
        try check(answers, to: late)
        try await checkArrived(late, answers)
        try await within(limit, "close") { await transport.close() }
    }

    func checkCloseAlone() async throws {
        let transport = try made()
        for _ in 0..<2 { try await within(limit, "close") { await transport.close() } }
    }

    func checkCancelledAtOnce() async throws {
        try await whilePaused { transport in
            let window = maker.window(30, from: 5_000)
            let delivery = Task { await transport.deliver(window) }
            delivery.cancel()
            try check(try await within(limit, "deliver") { await delivery.value }, to: window, mayMiss: true)
        }
    }

    func checkCancelledUnderWay() async throws {
        try await whilePaused { transport in
            let window = maker.window(30, from: 6_000)
            let delivery = Task { await transport.deliver(window) }
            try await waitUntilUnderWay(window)
            delivery.cancel()
            try check(try await within(limit, "deliver") { await delivery.value }, to: window, mayMiss: true)
        }
    }

    func checkClosedUnderWay() async throws {
        try await whilePaused { transport in
            let window = maker.window(30, from: 7_000)
            let delivery = Task { await transport.deliver(window) }
            try await waitUntilUnderWay(window)
            try await within(limit, "close") { await transport.close() }
            try check(try await within(limit, "deliver") { await delivery.value }, to: window, mayMiss: true)
        }
    }

    /// The other side is slow for a while: a push may be deferred, and is then handed out again while it is under way.
    func checkDeferred() async throws {
        try await withOpen { transport in
            let window = maker.window(30, from: 8_000)
            try await peer.pause()
            let settling = Task { try await settle(window, through: transport) }
            _ = try await becomes(min(limit, .seconds(3))) { try await hasArrived(window) }
            try await peer.resume()
            let answers = try await settling.value
            try checkAccepted(answers)
            try await checkArrived(window, answers)
        }
    }

    func checkLettingGo() async throws {
        let rounds = 20
        try await serveOnce(8_900)
        let before = ProcessHoldings()
        for round in 0..<rounds { try await serveOnce(UInt64(9_000 + round)) }
        let hasLetGo = try await becomes(limit) { ProcessHoldings().exceeds(before, by: rounds / 2) == nil }
        guard !hasLetGo, let more = ProcessHoldings().exceeds(before, by: rounds / 2) else { return }
        throw Breach("after \(rounds) transports the process has \(more)")
    }

    // MARK: Settings

    private func serveOnce(_ sequence: UInt64) async throws {
        weak var kept: AnyObject?
        try await withOpen { transport in
            if type(of: transport) is AnyObject.Type { kept = transport as AnyObject }
            try checkAccepted(try await settle(maker.window(1, from: sequence), through: transport))
        }
        if try await !becomes(limit, { kept == nil }) { throw Breach("a closed transport is still in memory") }
    }

    private func whilePaused(_ body: (any Transport) async throws -> Void) async throws {
        try await peer.pause()
        do { try await withOpen(body) } catch {
            try await peer.resume()
            throw error
        }
        try await peer.resume()
    }

    private func hasArrived(_ window: [Delivery]) async throws -> Bool {
        let ids = Set(window.map { maker.apnsID($0.id.push) })
        return try await peer.arrivals().contains { ids.contains($0) }
    }

    /// Until the first push came, or a second and a half: not each other side knows of a push that it has not answered.
    private func waitUntilUnderWay(_ window: [Delivery]) async throws {
        _ = try await becomes(min(limit, .milliseconds(1_500))) { try await hasArrived(window) }
    }
}
