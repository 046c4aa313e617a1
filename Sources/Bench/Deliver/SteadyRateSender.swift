import PipelineKit

/// Sends pushes at a steady rate, without waiting for answers, and measures how long they take.
struct SteadyRateSender {
    private static let seconds = 3
    private static let interval = Duration.milliseconds(2)

    private let transport: any Transport
    private let pushesPerInterval: Int
    private let interruption: Interruption

    init(_ transport: any Transport, perSecond: Double, _ interruption: Interruption) {
        self.transport = transport
        self.interruption = interruption
        pushesPerInterval = max(1, Int(perSecond * (Self.interval / .seconds(1))))
    }

    /// - Returns: For each interval, the microseconds between the planned time of its pushes and their last answer.
    func run(_ pushes: DeliverBenchPushes) async throws -> [Int64] {
        let (transport, few) = (transport, Array(pushes.all.prefix(pushesPerInterval)))
        let start = ContinuousClock.now
        return try await withThrowingTaskGroup(of: Int64.self) { group in
            for number in 0..<(Self.seconds * Int(.seconds(1) / Self.interval)) {
                try interruption.check()
                let due = start + Self.interval * number
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
