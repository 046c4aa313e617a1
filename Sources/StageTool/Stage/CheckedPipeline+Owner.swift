import JetStreamHome
import PipelineKit
import PipelineRuntime

extension CheckedPipeline {
    /// The pipeline with the addresses of the host that runs a stage now; this value for a file without hosts.
    ///
    /// Blocks its thread until the host is known.
    ///
    /// - Throws: ``ToolFailure`` with 69 if no host says that it runs the stage.
    package func onOwner(of stage: PipelineStage) throws -> CheckedPipeline {
        guard !file.hosts.isEmpty, let settings = file.log.home else { return self }
        let home = try JetStreamHome(settings, pipeline: file.name) { _ in }
        let watch = OwnerWatch(file.hosts, try home.beacons(of: stage.logName))
        guard let owner = watch.owner(atMost: settings.takeOver + Self.answerMax) else {
            throw ToolFailure(
                .unavailable,
                "no host says that it runs \(stage.name): start the stages with 'belfry up \(path) --host NAME'")
        }
        return CheckedPipeline(path: path, file: file.addressed(to: owner))
    }

    private static let answerMax = Duration.seconds(2)
}
