import PipelineRuntime

/// A test waited for a condition that did not become true.
package struct WaitFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

extension StageHost {
    /// Waits until the host's report meets a condition.
    ///
    /// - Parameter what: A description of the condition for the error.
    /// - Throws: ``WaitFailure`` with the last report, if the host ends or the limit passes first;
    ///   `CancellationError` if the test's task is cancelled.
    package func wait(
        for what: String, within limit: Duration = .seconds(60),
        until condition: @escaping @Sendable (HostReport) -> Bool
    ) async throws {
        let (ends, end) = AsyncStream.makeStream(of: String?.self)
        Task { [control] in end.yield(await control.wait(until: condition) ? nil : "the host has ended") }
        let timer = Task {
            try await Task.sleep(for: limit)
            end.yield("not within \(limit)")
        }
        defer { timer.cancel() }
        for await problem in ends {
            guard let problem else { return }
            throw WaitFailure("\(plan.stage): \(what): \(problem); \(control.report)")
        }
        throw CancellationError()
    }
}
