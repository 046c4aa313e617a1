import BelfryTool
import StageTool

await Tool.belfry()
