import Glibc
import PipelineRuntime
import TestSupport
import Testing

@Suite struct ChildProcessTests {
    /// With Foundation's `Process`, children that started at the same moment inherited each other's pipes. The end of
    /// one child was then noticed only when the others had ended too.
    @Test func `the end of a child is noticed while children that started at the same time run`() async throws {
        for round in 0..<Tier.value(2, full: 300) {
            Cost.spend(.processes, 6)
            let children = try await withThrowingTaskGroup(of: ChildProcess.self) { group in
                for _ in 0..<6 {
                    group.addTask { try ChildProcess(["sleep", "60"], standard: .lifeline(output: STDERR_FILENO)) }
                }
                return try await group.reduce(into: [ChildProcess]()) { $0.append($1) }
            }
            children[0].signal(SIGKILL)
            let timeout = Task {
                try await Task.sleep(for: .seconds(10))
                Issue.record("round \(round): an end was not noticed")
                for child in children { child.signal(SIGKILL) }
            }
            #expect(await children[0].wait().wasSignalled)
            timeout.cancel()
            for child in children { child.signal(SIGKILL) }
            for child in children { _ = await child.wait() }
        }
    }
}
