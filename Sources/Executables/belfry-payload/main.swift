import BelfryTool

await Tool.payload()
