import EventLog
import PipelineKit

/// Stages of a pipeline that run already: no second ones are started beside them.
struct RunningStages {
    private let file: PipelineFile
    /// How long those may take to end whose supervisor was just stopped or killed.
    private static let patience = Duration.seconds(3)

    init(of file: PipelineFile) { self.file = file }

    /// Returns when none of them runs.
    ///
    /// - Throws: ``ToolFailure`` with 69 that names each with its process, where they go on.
    func waitForEnd() async throws {
        let limit = ContinuousClock.now + Self.patience
        while case let running = try running, !running.isEmpty {
            guard .now < limit else {
                throw ToolFailure(
                    .unavailable,
                    "pipeline \(file.name) runs already in \(file.data): \(running.joined(separator: ", ")); stop it first, or give "
                        + "this one another data folder")
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
