import JetStreamHome
import PipelineKit
import PipelineRuntime

extension CheckedPipeline {
    /// The pipeline with the addresses of the host that runs a stage now; this value for a file without hosts.
    ///
    /// Blocks its thread until the host is known.
    ///
    /// - Parameter limit: How long to wait for the host.
    /// - Throws: ``ToolFailure`` with 69 if no host says in time that it runs the stage.
    package func onOwner(of stage: PipelineStage, atMost limit: Duration) throws -> CheckedPipeline {
        guard !file.hosts.isEmpty, let settings = file.log.home else { return self }
        let home = try JetStreamHome(settings, pipeline: file.name) { _ in }
        let watch = OwnerWatch(file.hosts, try home.beacons(of: stage.logName))
        guard let owner = watch.owner(atMost: limit) else {
            throw ToolFailure(
                .unavailable,
                "for \(Int((limit / .seconds(1)).rounded())) s no host has said that it runs \(stage.name): start the stages "
                    + "with 'belfry up \(path) --host NAME'")
        }
        return CheckedPipeline(path: path, file: file.addressed(to: owner))
    }
}
