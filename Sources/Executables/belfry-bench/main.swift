import Bench
import StageTool

await Tool.bench()
