import BuiltInStages
import Match
import PipelineKit
import StageTool

enum Program: DescribedStageKind {
    static let kind = MatchStage.kind
    static var registry: Registry { .builtInStages.running(kind) }
    static let abstract = "Finds the subscriptions that watch each change."
    static let reads = "ingest's changes"
    static let writes = "one match for each change and each subscription that watches it"
}

await Tool.stage(Program.self)
