import BelfryTool

await Tool.match()
