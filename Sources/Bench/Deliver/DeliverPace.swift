import PipelineKit

/// Sends at a steady rate, without waiting for answers before it goes on, and notes how long each few pushes took from
/// when they were due.
struct DeliverPace {
    private static let seconds = 3
    private static let interval = Duration.milliseconds(2)

    private let transport: any Transport
    private let perInterval: Int
    private let interruption: Interruption

    init(_ transport: any Transport, perSecond: Double, _ interruption: Interruption) {
        self.transport = transport
        self.interruption = interruption
        perInterval = max(1, Int(perSecond * (Self.interval / .seconds(1))))
    }

    /// - Returns: Microseconds; the slowest of each interval's pushes counts for it.
    func run(_ pushes: DeliverBenchPushes) async throws -> [Int64] {
        let (transport, few) = (transport, Array(pushes.window.prefix(perInterval)))
        let began = ContinuousClock.now
        return try await withThrowingTaskGroup(of: Int64.self) { group in
            for number in 0..<(Self.seconds * Int(.seconds(1) / Self.interval)) {
                try interruption.check()
                let due = began + Self.interval * number
                try await Task.sleep(until: due, clock: .continuous)
                group.addTask {
                    _ = await transport.deliver(few)
                    return Int64((ContinuousClock.now - due) / .microseconds(1))
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }
}
