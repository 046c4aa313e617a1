import BuiltInStages
import Ingest
import PipelineKit
import StageTool

enum Program: StageKind {
    static let kind = IngestStage.kind
    static var registry: Registry { .builtInStages.running(kind) }
}

await Tool.source(Program.self)
