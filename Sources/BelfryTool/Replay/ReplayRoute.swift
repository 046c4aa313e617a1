import PipelineKit
import PipelineRuntime

/// A transport that a replay may send through, and the stage that hands pushes to it.
struct ReplayRoute: Sendable {
    let stage: String
    let binding: TransportBinding

    var name: String { binding.name }

    /// - Parameters:
    ///   - name: What `--to` says.
    ///   - stages: Those that are re-run.
    /// - Throws: ``ToolFailure`` with 64 where none of them has such a transport, or several have one.
    init(_ name: String, of stages: [PipelineStage], _ registry: Registry) throws {
        let all = try stages.flatMap { stage in
            try registry.transports(of: stage).map { ReplayRoute(stage: stage.name, binding: $0) }
        }
        let routes = all.filter { $0.name == name }
        guard let route = routes.first else {
            let known = all.isEmpty ? "none" : Set(all.map(\.name)).sorted().joined(separator: ", ")
            throw ToolFailure(
                .usage,
                "--to \(name): the stages that are re-run have no such transport; theirs: \(known). console, file:PATH "
                    + "and null are always there")
        }
        guard routes.count == 1 else {
            let names = routes.map(\.stage).joined(separator: ", ")
            throw ToolFailure(.usage, "--to \(name): \(names) have one each; choose with --stage")
        }
        self = route
    }

    private init(stage: String, binding: TransportBinding) { (self.stage, self.binding) = (stage, binding) }

    /// That nobody is pushed to by mistake.
    var refusal: ToolFailure {
        ToolFailure(
            .usage,
            "--to \(name) would send every push of this replay once more, through the transport that \(stage) sets up "
                + "(\(binding.kind)), to whoever listens there; nothing was sent. Say --really-send if you mean it, or "
                + "look at them with --to console")
    }
}
