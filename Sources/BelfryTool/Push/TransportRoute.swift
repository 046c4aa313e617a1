import BuiltIns
import Inspect
import JSON
import PipelineKit
import PipelineRuntime
import TransportAPNs

/// A transport of a pipeline file, with the folder for its files.
struct TransportRoute: Sendable {
    let stage: String
    let binding: TransportBinding
    /// The folder of the stage's log. For a transport other than APNs, nil if the folder does not exist. The APNs
    /// transport always gets the folder: it keeps its provider token there, so that the stage can use this token later.
    let folder: String?

    static func all(in checked: CheckedPipeline) throws -> [TransportRoute] {
        try checked.file.stagesInOrder.flatMap { stage in
            let log = checked.file.data + "/logs/" + stage.logName
            let exists = LogPlace.isFolder(log)
            return try Registry.builtIns.transports(of: stage).map { binding in
                let hasFolder = exists || binding.kind == APNsTransport.kind
                return TransportRoute(stage: stage.name, binding: binding, folder: hasFolder ? log : nil)
            }
        }
    }

    /// The types of the pipeline's transports, by name.
    static func kinds(in checked: CheckedPipeline) throws -> [String: any Transport.Type] {
        try all(in: checked).reduce(into: [:]) { $0[$1.binding.name] = Registry.builtIns.transports[$1.binding.kind] }
    }

    /// - Throws: ``ToolFailure`` with status 64 if the pipeline has no such transport.
    static func find(_ name: String, in checked: CheckedPipeline) throws -> TransportRoute {
        let routes = try all(in: checked)
        guard let route = routes.first(where: { $0.binding.name == name }) else {
            let known = Set(routes.map(\.binding.name)).sorted()
            let near = Spelling.suggestion(for: name, among: known).map { $0 + " " } ?? ""
            throw ToolFailure(
                .usage,
                "\(checked.path) has no transport \(name); \(near)its transports: \(known.joined(separator: ", "))")
        }
        return route
    }
}
