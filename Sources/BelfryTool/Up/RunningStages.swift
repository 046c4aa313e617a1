import EventLog
import PipelineKit

/// Finds stages of a pipeline that are running already, so that they are not started twice.
struct RunningStages {
    private let file: PipelineFile
    /// How long stages may take to end after their supervisor was stopped or killed.
    private static let waitMax = Duration.seconds(3)

    init(of file: PipelineFile) { self.file = file }

    /// Waits until no stage is running.
    ///
    /// - Throws: ``ToolFailure`` with 69 if stages keep running. The message lists their processes.
    func waitForEnd() async throws {
        let deadline = ContinuousClock.now + Self.waitMax
        while case let running = try running, !running.isEmpty {
            guard .now < deadline else {
                throw ToolFailure(
                    .unavailable,
                    "pipeline \(file.name) is already running in \(file.data): \(running.joined(separator: ", ")); stop it first, "
                        + "or use another data folder")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    private var running: [String] {
        get throws {
            try file.stagesInOrder.compactMap { stage in
                try EventLogs.writer(ofLogAt: "\(file.data)/logs/\(stage.logName)").map {
                    "\(stage.name) is process \($0)"
                }
            }
        }
    }
}
