import Match
import PipelineKit
import StageTool

enum Linked: LinkedStages {
    static var registry: Registry {
        var registry = Registry()
        registry.register(MatchStage.self)
        return registry
    }
}

await Tool.match(Linked.self)
