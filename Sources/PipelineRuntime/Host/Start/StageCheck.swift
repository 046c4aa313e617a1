import Glibc
import PipelineKit
import Time

/// Checks a stage without starting it: its kind, its position in the pipeline, its settings and the settings of its
/// transports. Of a stage that is a program, checks only whether the program and its folder can be used.
package struct StageCheck: Sendable {
    private let registry: Registry

    package init(registry: Registry) { self.registry = registry }

    /// Checks one stage, as the `check` of ``PipelineFile/load(path:registry:check:)``. Ends at the first step that
    /// finds mistakes, and throws all mistakes of this step. The settings of all transports together are one step.
    package func callAsFunction(_ stage: PipelineStage) throws(PipelineFileError) {
        do throws(SettingsError) {
            guard stage.command.isEmpty else { return try checkProgram(of: stage) }
            try HostPlan.check(stage, registry.stages[stage.kind], registry)
        } catch {
            throw PipelineFileError([error])
        }
        try check(stage.settings, kind: stage.kind)
        if stage.lane != nil { try checkLanes(stage) }
    }

    private func checkLanes(_ stage: PipelineStage) throws(PipelineFileError) {
        let errors = try registry.transports(of: stage).filter { binding in
            registry.transports[binding.kind].map { !$0.canRunInLanes } ?? false
        }.map { binding in
            binding.settings.fail(
                "use", "a transport of kind \(binding.kind) cannot run in several lanes",
                hint: "leave `lanes` out, or use another transport")
        }
        guard errors.isEmpty else { throw PipelineFileError(errors) }
    }

    private func checkProgram(of stage: PipelineStage) throws(SettingsError) {
        let program = stage.command[0]
        if ChildProcess.find(program) == nil {
            let reason = ChildProcess.reasonForNotFinding(program)
            throw stage.settings.fail("command", "cannot start \(program): \(reason)")
        }
        if let directory = stage.directory, access(directory, X_OK) != 0 {
            let reason = String(cString: strerror(errno))
            throw stage.settings.fail("directory", "cannot use the folder \(directory): \(reason)")
        }
    }

    func check(_ settings: SettingsReader, kind: String) throws(PipelineFileError) {
        guard let type = registry.stages[kind] else { return }
        try check(settings, type)
    }

    private func check<S: Stage>(_ reader: SettingsReader, _ type: S.Type) throws(PipelineFileError) {
        let settings = try reader.decode(S.Settings.self)
        let errors = S.transports(of: settings).flatMap(errors)
        guard errors.isEmpty else { throw PipelineFileError(errors) }
        let identity = LogIdentity(seed: "check", name: S.kind)
        do throws(SettingsError) {
            let context = StageContext(
                log: identity, upstream: identity, upstreamName: "check", registry: registry)
            _ = try S(settings, context: context)
        } catch {
            throw PipelineFileError([error])
        }
    }

    private func errors(_ binding: TransportBinding) -> [SettingsError] {
        do throws(PipelineFileError) {
            _ = try registry.transport(binding) { _ in }
            return []
        } catch {
            return error.errors
        }
    }
}
