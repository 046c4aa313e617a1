import StageTool
import WebServices

await Tool.api()
