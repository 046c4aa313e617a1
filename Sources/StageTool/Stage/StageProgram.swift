import ArgumentParser
import PipelineKit

/// Describes a program that runs the stages of one kind, each in a process of its own.
package protocol StageKind: SendableMetatype {
    /// The kind's name in pipeline files.
    static var kind: String { get }
    /// The plugins of the program. They include the stage of this kind, and its policies and transports.
    static var registry: Registry { get }
}

/// The help texts of a program whose stage reads another stage's log.
package protocol DescribedStageKind: StageKind {
    static var abstract: String { get }
    static var reads: String { get }
    static var writes: String { get }
}

/// A stage program such as `belfry-match`.
struct StageProgram<Kind: DescribedStageKind>: AsyncParsableCommand, ReloadsOnHangup {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "belfry-\(Kind.kind)",
            abstract: Kind.abstract,
            discussion: """
                Reads \(Kind.reads), writes \(Kind.writes), and continues where it stopped. Stages may be started in \
                any order. Ctrl-C or SIGTERM stops the stage after the current batch. SIGHUP makes the stage read the \
                pipeline file again and use the new settings.

                  belfry-\(Kind.kind) -p Pipelines/quickstart.yaml
                  belfry-\(Kind.kind) -p two.yaml --stage \(Kind.kind)-eu
                """)
    }

    @OptionGroup var options: StageOptions

    func run() async throws {
        guard !options.worker.replayWorker else { return try options.worker.run(Kind.registry) }
        try await StageRunner(Kind.registry, options.pipeline) { [options] in try options.read($0, Kind.self) }.run()
    }
}

extension CheckedPipeline {
    /// The stage that a stage program's options name.
    func stage(_ options: StageOptions, kind: String) throws(ToolFailure) -> PipelineStage {
        guard let name = options.stage else { return try stage(ofKind: kind) }
        let stage = try stage(name)
        guard stage.kind == kind else {
            throw ToolFailure(
                .usage, "stage \(name) in \(path) is of kind \(stage.kind), and belfry-\(kind) runs \(kind) only")
        }
        return stage
    }
}
