import BuiltInStages
import Payload
import PipelineKit
import StageTool

enum Program: DescribedStageKind {
    static let kind = PayloadStage.kind
    static var registry: Registry { .builtInStages.running(kind) }
    static let abstract = "Builds the payload and headers of each push."
    static let reads = "notifications"
    static let writes = "pushes"
}

await Tool.stage(Program.self)
