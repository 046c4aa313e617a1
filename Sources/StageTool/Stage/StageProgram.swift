import ArgumentParser
import PipelineKit

/// A program that runs the stages of one kind, each in a process of its own.
package protocol StageKind: SendableMetatype {
    /// The word a pipeline file names the stage by.
    static var kind: String { get }
    /// What the program can run, with the policies and transports for it.
    static var registry: Registry { get }
}

/// What the help of a program says, where its stage reads another.
package protocol DescribedStageKind: StageKind {
    static var abstract: String { get }
    static var reads: String { get }
    static var writes: String { get }
}

/// `belfry-match` and its like: one stage of one kind, in a process of its own.
struct StageProgram<Kind: DescribedStageKind>: AsyncParsableCommand, HangupTaker {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "belfry-\(Kind.kind)",
            abstract: Kind.abstract,
            discussion: """
                Reads \(Kind.reads), writes \(Kind.writes) and goes on where it stopped. The order in which stages are \
                started does not matter. Stop it with Ctrl-C or SIGTERM: it finishes the batch in hand first. On SIGHUP \
                it reads its file again, and goes on with what is new.

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
