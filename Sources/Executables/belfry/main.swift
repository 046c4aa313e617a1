import BelfryTool

await Tool.belfry()
