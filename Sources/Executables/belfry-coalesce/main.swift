import BuiltInStages
import Coalesce
import PipelineKit
import StageTool

enum Program: DescribedStageKind {
    static let kind = CoalesceStage.kind
    static var registry: Registry { .builtInStages.running(kind) }
    static let abstract = "Holds notifications for a moment, so that a newer one can replace an older one."
    static let reads = "matches"
    static let writes = "notifications"
}

await Tool.stage(Program.self)
