import PipelineKit
import PipelineRuntime

/// How `belfry up` starts each stage: as this same program, so that no stage is of another build than the rest and than
/// what checked the file. `belfry-ingest` and its like are for those who start a stage by itself.
package struct StagePrograms {
    let belfry: String

    package init(belfry: String = SiblingProgram.running) { self.belfry = belfry }

    package func program(for stage: PipelineStage, pipeline: String) -> Supervisor.Program {
        Supervisor.Program(stage: stage.name, command: [belfry, "stage", stage.name, "--pipeline", pipeline])
    }
}
