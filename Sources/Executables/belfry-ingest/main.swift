import BelfryTool

await Tool.ingest()
