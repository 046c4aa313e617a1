import PipelineRuntime
import Synchronization

/// Remembers why the first of some processes ended.
final class FirstFailure: Sendable {
    private let reason = Mutex<String?>(nil)

    func take(_ event: Supervisor.Event) {
        switch event {
        case .ended(let stage, _, let text, _): fail("\(stage) \(text) while it was measured")
        case .gaveUp(let stage, let status): fail("\(stage) exited with status \(status)")
        case .started, .stopped: return
        }
    }

    private func fail(_ text: String) { reason.withLock { $0 = $0 ?? text } }

    /// - Throws: ``ToolFailure`` once one has ended.
    func check() throws {
        if let reason = reason.withLock({ $0 }) { throw ToolFailure(.software, reason) }
    }
}
