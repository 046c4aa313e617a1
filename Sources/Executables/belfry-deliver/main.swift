import BelfryTool

await Tool.deliver()
