import ArgumentParser
import PipelineKit

/// What tells the programs of the built-in stages apart.
protocol StageKind: SendableMetatype {
    /// The word a pipeline file names the stage by.
    static var kind: String { get }
    static var abstract: String { get }
    static var reads: String { get }
    static var writes: String { get }
}

/// What a program can do: the stages, policies and transports that are linked into it.
package protocol LinkedStages: SendableMetatype {
    static var registry: Registry { get }
}

/// `belfry-match` and its like: one stage of one kind, in a process of its own.
struct StageProgram<Kind: StageKind, Linked: LinkedStages>: AsyncParsableCommand, HangupTaker {
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
        let registry = Linked.registry
        guard !options.worker.replayWorker else { return try options.worker.run(registry) }
        try await StageRunner(registry, options.pipeline) { [options] in
            try options.read($0, kind: Kind.kind, registry)
        }.run()
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

enum MatchProgram: StageKind {
    static let kind = "match"
    static let abstract = "Finds the subscriptions that watch each change."
    static let reads = "ingest's changes"
    static let writes = "one match for each change and subscription"
}

enum CoalesceProgram: StageKind {
    static let kind = "coalesce"
    static let abstract = "Holds notifications for a moment, so that a newer one can replace an older one."
    static let reads = "matches"
    static let writes = "notifications"
}

enum PayloadProgram: StageKind {
    static let kind = "payload"
    static let abstract = "Builds the payload and headers of each push."
    static let reads = "notifications"
    static let writes = "pushes"
}

enum DeliverProgram: StageKind {
    static let kind = "deliver"
    static let abstract = "Sends each push to its user's devices through transports."
    static let reads = "pushes"
    static let writes = "one outcome for each push and device"
}
