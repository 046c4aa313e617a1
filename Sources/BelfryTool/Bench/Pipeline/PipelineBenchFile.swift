/// The pipeline file of a measurement: the five stages over `ipc`, pushes into a file.
struct PipelineBenchFile {
    let folder: String
    let sync: String
    /// As the pipeline file takes it; nil for what it is without.
    var snapshotBytes: String?

    var path: String { folder + "/bench.yaml" }
    var pushes: String { folder + "/pushes.ndjson" }
    var logs: String { folder + "/data/logs" }

    var text: String {
        """
        pipeline: bench
        data: data
        log:
          sync: \(sync)
        \(snapshotBytes.map { "  snapshotBytes: \($0)" } ?? "")
        stages:
          ingest: {}
          match:
            from: ingest
          coalesce:
            from: match
          payload:
            from: coalesce
          deliver:
            from: payload
            transports:
              file:
                use: file
                path: pushes.ndjson

        """
    }
}
