import BuiltIns
import PipelineKit

extension PipelineFile {
    /// A pipeline of the five stages.
    ///
    /// - Parameters:
    ///   - ingest: The settings of ingest, as in a YAML flow mapping without braces. The parameters for match, coalesce
    ///     and payload have the same form.
    ///   - transports: The transports of deliver, with braces.
    static func fiveStages(
        ingest: String = "", match: String = "", coalesce: String = "window: 1s, maximumDelay: 3s",
        payload: String = "", transports: String = "{apns: {use: console}}"
    ) throws -> PipelineFile {
        func stage(_ settings: String, from upstream: String) -> String {
            "{from: \(upstream)\(settings.isEmpty ? "" : ", ")\(settings)}"
        }
        return try parse(
            """
            pipeline: five
            data: /nowhere
            stages:
              ingest: {\(ingest)}
              match: \(stage(match, from: "ingest"))
              coalesce: \(stage(coalesce, from: "match"))
              payload: \(stage(payload, from: "coalesce"))
              deliver: {from: payload, transports: \(transports)}
            """, file: "five.yaml", registry: .builtIns)
    }
}
