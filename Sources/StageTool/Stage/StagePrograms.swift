import PipelineKit
import PipelineRuntime

/// The commands with which `belfry up` starts its stages. Each runs `belfry` itself, so that all stages and the check
/// of the file come from one build. Programs such as `belfry-ingest` are for starting a single stage by hand.
package struct StagePrograms {
    let belfry: String

    package init(belfry: String = SiblingProgram.running) { self.belfry = belfry }

    package func program(for stage: PipelineStage, pipeline: String) -> Supervisor.Program {
        Supervisor.Program(stage: stage.name, command: [belfry, "stage", stage.name, "--pipeline", pipeline])
    }
}
