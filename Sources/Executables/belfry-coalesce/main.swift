import BelfryTool

await Tool.coalesce()
