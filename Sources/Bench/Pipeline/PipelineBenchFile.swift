import BuiltIns
import PipelineKit

/// The pipeline file of a measurement: the five stages over `ipc`, pushes into a file.
struct PipelineBenchFile {
    let folder: String
    let sync: String
    /// As the pipeline file takes it; nil for what it is without.
    var snapshotBytes: String?

    var path: String { folder + "/bench.yaml" }
    var pushes: String { folder + "/pushes.ndjson" }
    var logs: String { folder + "/data/logs" }

    /// Writes it, and makes the data folder that it names.
    func make() throws -> CheckedPipeline {
        try TextFile.write(text, to: path)
        let checked = try read()
        try DataFolder.prepare(checked.file.data)
        return checked
    }

    func read() throws -> CheckedPipeline { try CheckedPipeline(PipelineText(path: path), of: .builtIns) }

    private var text: String {
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
