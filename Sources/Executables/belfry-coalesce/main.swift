import Coalesce
import PipelineKit
import StageTool

enum Linked: LinkedStages {
    static var registry: Registry {
        var registry = Registry()
        registry.register(CoalesceStage.self)
        registry.registerPolicies()
        return registry
    }
}

await Tool.coalesce(Linked.self)
