/// A rule that a transport breaks, in words.
struct Breach: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// What `work` gives. Work that takes longer than the limit is left to itself.
///
/// - Throws: ``Breach`` when it takes longer.
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
    throw Breach("\(name) is not over after \(limit)")
}

/// Looks again and again until it is so.
///
/// - Returns: False when it was not so before the limit.
func becomes(_ limit: Duration, _ isSo: () async throws -> Bool) async throws -> Bool {
    let end = ContinuousClock.now + limit
    while try await !isSo() {
        guard ContinuousClock.now < end else { return false }
        try await Task.sleep(for: .milliseconds(5))
    }
    return true
}
