import PipelineKit
import PipelineRuntime
import Synchronization

/// Writes pushes to standard output, one JSON object a line.
///
/// If several stages deliver, the pushes of the first stage are written at once, and those of the other stages at the
/// end, one stage after the other. So the output does not depend on which stage is faster.
final class PushWriter: Sendable {
    private struct State {
        var failure: OutputError?
        var pushes: UInt64 = 0
        var stages: [String] = []
        var heldBack: [String: [UInt8]] = [:]
    }

    private let state = Mutex(State())
    private let write: @Sendable ([UInt8]) throws(OutputError) -> Void

    init(write: @escaping @Sendable ([UInt8]) throws(OutputError) -> Void = StandardOutput.write) {
        self.write = write
    }

    var pushes: UInt64 { state.withLock { $0.pushes } }
    var failure: OutputError? { state.withLock { $0.failure } }

    /// The sink for one stage. The first call of this function for each stage determines the order of the stages in the
    /// output. After a restart, each stage gets a new sink, and the order stays.
    func sink(for stage: String) -> PushSink {
        state.withLock { if !$0.stages.contains(stage) { $0.stages.append(stage) } }
        return { [self] pushes in add(pushes, from: stage) }
    }

    /// Writes the pushes of all stages but the first.
    func finish() {
        for stage in state.withLock({ $0.stages }) {
            if let bytes = state.withLock({ $0.heldBack.removeValue(forKey: stage) }) { writeUnlessFailed(bytes) }
        }
    }

    private func add(_ pushes: [Delivery], from stage: String) {
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
            if state.stages.first != stage { state.heldBack[stage, default: []] += bytes }
            return state.stages.first == stage
        }
        if isFirst { writeUnlessFailed(bytes) }
    }

    private func writeUnlessFailed(_ bytes: [UInt8]) {
        guard failure == nil else { return }
        do throws(OutputError) { try write(bytes) } catch {
            state.withLock { $0.failure = error }
        }
    }
}
