import BuiltIns
import Deliver
import PipelineKit
import StageTool

enum Program: DescribedStageKind {
    static let kind = DeliverStage.kind
    static var registry: Registry { .builtIns }
    static let abstract = "Sends each push to its user's devices through transports."
    static let reads = "pushes"
    static let writes = "one outcome for each push and device"
}

await Tool.stage(Program.self)
