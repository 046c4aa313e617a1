import BuiltIns
import PipelineKit
import StageTool

enum Linked: LinkedStages {
    static var registry: Registry { .builtIns }
}

await Tool.deliver(Linked.self)
