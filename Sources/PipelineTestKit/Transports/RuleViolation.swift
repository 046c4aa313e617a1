/// Thrown when a rule is broken. Describes what the check observed.
struct RuleViolation: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Waits for the result of `work`.
///
/// - Throws: ``RuleViolation`` if the work takes longer than the limit, or if the caller's task is cancelled. The work
///   itself is never cancelled.
func within<Value: Sendable>(
    _ limit: Duration, _ name: String, _ work: @escaping @Sendable () async -> Value
) async throws -> Value {
    let (ends, end) = AsyncStream.makeStream(of: Value?.self)
    Task { end.yield(await work()) }
    let clock = Task {
        do { try await Task.sleep(for: limit) } catch { return }
        end.yield(nil)
    }
    defer { clock.cancel() }
    for await value in ends {
        if let value { return value }
        break
    }
    throw RuleViolation("\(name) has not returned after \(limit)")
}

/// Waits until a condition is true.
///
/// - Returns: Whether the condition became true before the limit.
func becomesTrue(within limit: Duration, _ condition: () async throws -> Bool) async throws -> Bool {
    let end = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < end else { return false }
        try await Task.sleep(for: .milliseconds(5))
    }
    return true
}
