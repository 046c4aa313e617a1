import PipelineKit
import PipelineRuntime

/// The commands with which `belfry up` starts its stages. Each runs `belfry` itself, so that all stages and the check
/// of the file come from one build. Programs such as `belfry-ingest` are for starting a single stage by hand.
package struct StagePrograms {
    let belfry: String

    package init(belfry: String = SiblingProgram.running) { self.belfry = belfry }

    /// - Parameter host: The name of this host in the pipeline file; nil if the file names no hosts.
    package func program(for stage: PipelineStage, pipeline: String, host: String? = nil) -> Supervisor.Program {
        let onHost = host.map { ["--host", $0] } ?? []
        return Supervisor.Program(
            stage: stage.name, command: [belfry, "stage", stage.name, "--pipeline", pipeline] + onHost)
    }
}
