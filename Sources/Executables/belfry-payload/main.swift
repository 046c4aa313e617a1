import Payload
import PipelineKit
import StageTool

enum Linked: LinkedStages {
    static var registry: Registry {
        var registry = Registry()
        registry.register(PayloadStage.self)
        return registry
    }
}

await Tool.payload(Linked.self)
