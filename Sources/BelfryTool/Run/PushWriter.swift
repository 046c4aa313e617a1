import PipelineKit
import PipelineRuntime
import Synchronization

/// Writes pushes to standard output, one JSON object a line, and remembers when that no longer works.
///
/// Where several stages deliver, the first one's pushes are written as they come and the others' are kept until the end:
/// which stage was faster must not show.
final class PushWriter: Sendable {
    private struct State {
        var failure: OutputError?
        var pushes: UInt64 = 0
        var lanes: [String] = []
        var kept: [String: [UInt8]] = [:]
    }

    private let state = Mutex(State())
    private let write: @Sendable ([UInt8]) throws(OutputError) -> Void

    init(write: @escaping @Sendable ([UInt8]) throws(OutputError) -> Void = StandardOutput.write) {
        self.write = write
    }

    var pushes: UInt64 { state.withLock { $0.pushes } }
    var failure: OutputError? { state.withLock { $0.failure } }

    /// What takes one stage's pushes. To be asked for in the order in which stages are to be written; once more where
    /// the stage was started again.
    func sink(for stage: String) -> PushSink {
        state.withLock { if !$0.lanes.contains(stage) { $0.lanes.append(stage) } }
        return { [self] pushes in take(pushes, from: stage) }
    }

    /// Writes what was kept.
    func finish() {
        for stage in state.withLock({ $0.lanes }) {
            if let bytes = state.withLock({ $0.kept.removeValue(forKey: stage) }) { put(bytes) }
        }
    }

    private func take(_ pushes: [Delivery], from stage: String) {
        guard failure == nil else { return }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(pushes.reduce(0) { $0 + $1.byteCount + 1 })
        for push in pushes {
            bytes += push.head
            bytes += push.rest
            bytes.append(UInt8(ascii: "\n"))
        }
        let isFirst = state.withLock { state in
            state.pushes += UInt64(pushes.count)
            if state.lanes.first != stage { state.kept[stage, default: []] += bytes }
            return state.lanes.first == stage
        }
        if isFirst { put(bytes) }
    }

    private func put(_ bytes: [UInt8]) {
        guard failure == nil else { return }
        do throws(OutputError) { try write(bytes) } catch {
            state.withLock { $0.failure = error }
        }
    }
}
