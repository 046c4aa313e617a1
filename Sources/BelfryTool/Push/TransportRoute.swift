import BuiltIns
import PipelineKit
import PipelineRuntime

/// A transport as a pipeline file sets it up, and where it may keep what is its own.
struct TransportRoute {
    let stage: String
    let binding: TransportBinding
    /// Nil where the stage never ran.
    let folder: String?

    static func all(in checked: CheckedPipeline) throws -> [TransportRoute] {
        try checked.file.stagesInOrder.flatMap { stage in
            let log = checked.file.data + "/logs/" + stage.logName
            let folder = LogPlace.isFolder(log) ? log : nil
            return try Registry.builtIns.transports(of: stage).map {
                TransportRoute(stage: stage.name, binding: $0, folder: folder)
            }
        }
    }

    /// - Throws: ``ToolFailure`` with 64 where the pipeline has no such transport.
    static func find(_ name: String, in checked: CheckedPipeline) throws -> TransportRoute {
        let routes = try all(in: checked)
        guard let route = routes.first(where: { $0.binding.name == name }) else {
            let known = Set(routes.map(\.binding.name)).sorted().joined(separator: ", ")
            throw ToolFailure(.usage, "\(checked.path) has no transport \(name); its transports: \(known)")
        }
        return route
    }
}
