import Ingest
import PipelineKit
import StageTool

enum Linked: LinkedStages {
    static var registry: Registry {
        var registry = Registry()
        registry.register(IngestStage.self)
        return registry
    }
}

await Tool.ingest(Linked.self)
