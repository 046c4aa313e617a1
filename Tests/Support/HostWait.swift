import PipelineRuntime

/// Something that a test waited for did not come.
package struct WaitedInVain: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

extension StageHost {
    /// Returns when the stage's report is as wanted.
    ///
    /// - Parameter what: What is waited for, in words.
    /// - Throws: ``WaitedInVain`` with the last report, when the host ends without or it takes too long.
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
            throw WaitedInVain("\(plan.stage): \(what): \(problem); \(control.report)")
        }
    }
}
