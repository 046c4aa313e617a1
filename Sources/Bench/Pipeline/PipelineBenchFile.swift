import BuiltIns
import PipelineKit

/// The pipeline file of a run: the five stages over `ipc`, and a transport that writes pushes to a file.
struct PipelineBenchFile {
    let folder: String
    let sync: String
    /// The setting `snapshotBytes`; nil for the default.
    var snapshotBytes: String?
    var lanes = 1
    /// The NATS servers that keep the logs; nil for local files.
    var home: BenchHome?

    var path: String { folder + "/bench.yaml" }
    /// The files that the transport writes: one for each lane.
    var pushes: [String] {
        let path = folder + "/pushes.ndjson"
        return lanes == 1 ? [path] : (0..<lanes).map { Lane($0, of: lanes).path(path) }
    }
    var logs: String { folder + "/data/logs" }

    /// Writes the file, and makes its data folder.
    func make() throws -> CheckedPipeline {
        try TextFile.write(text, to: path)
        let checked = try read()
        try DataFolder.prepare(checked.file.data)
        return checked
    }

    func read() throws -> CheckedPipeline {
        try CheckedPipeline(PipelineText(path: path), checkingOnlyStagesOf: .builtIns)
    }

    private var text: String {
        """
        pipeline: \(home?.pipeline ?? "bench")
        data: data
        lanes: \(lanes)
        log:
          sync: \(sync)
        \(home?.settings ?? "")
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
