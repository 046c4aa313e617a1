import PipelineKit
import PipelineRuntime

extension TransportRoute {
    /// The transport that is given with `belfry replay --to NAME`.
    ///
    /// - Parameter names: The stages to re-run; empty for all.
    /// - Throws: ``ToolFailure`` with status 64 if none of these stages has such a transport, or if several have one.
    static func forReplay(
        _ name: String, in checked: CheckedPipeline, stages names: [String]
    ) throws -> TransportRoute {
        let all = try all(in: checked).filter { names.isEmpty || names.contains($0.stage) }
        let routes = all.filter { $0.binding.name == name }
        guard let route = routes.first else {
            let known = all.isEmpty ? "none" : Set(all.map(\.binding.name)).sorted().joined(separator: ", ")
            throw ToolFailure(
                .usage,
                "--to \(name): the replayed stages have no such transport; they have: \(known). You can always use console, "
                    + "file:PATH and null")
        }
        guard routes.count == 1 else {
            let stages = routes.map(\.stage).joined(separator: ", ")
            throw ToolFailure(
                .usage, "--to \(name): several stages have this transport (\(stages)); choose one with --stage")
        }
        return route
    }

    /// The error if `--really-send` is missing. The option is required so that no device gets a push by mistake.
    var replayRefusal: ToolFailure {
        ToolFailure(
            .usage,
            "--to \(binding.name) would send every push of this replay again, through the transport of \(stage) "
                + "(\(binding.kind)). Nothing was sent; add --really-send if you want that, or print the pushes with "
                + "--to console")
    }
}
