import ArgumentParser
import Inspect
import PipelineKit
import Time

struct DeadLettersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters",
        abstract: "Shows what did not get through, and redrives it.",
        discussion: """
              belfry dead-letters Pipelines/quickstart.yaml            what is there: see belfry dead-letters list --help
              belfry dead-letters redrive Pipelines/quickstart.yaml    what would be sent again; --yes sends it
            """,
        subcommands: [DeadLettersListCommand.self, RedriveCommand.self],
        defaultSubcommand: DeadLettersListCommand.self)
}

/// The place that both commands take.
struct LetterPlace: ParsableArguments {
    @Argument(help: "A pipeline file, its data folder, or a folder of logs.", completion: .file())
    var pipeline: String

    @Option(help: "The logs: a folder of logs or a data folder (default: the pipeline's).", completion: .directory)
    var logs: String?

    @Option(help: "The time by which pushes have expired or not (RFC 3339); now where it is not given.")
    var now: Instant?

    func find(_ filter: LetterFilter, including included: [Obsolescence] = []) throws -> DeadLetters {
        try DeadLetters(
            RecordedLogs(place: pipeline, logs: logs), filter,
            RedriveEligibility(now: now ?? .wall(), included: Set(included)))
    }
}

struct DeadLettersListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists what did not get through. `belfry dead-letters FILE` does the same.",
        discussion: """
            Reads and changes nothing; works beside a running pipeline and without one. Two things are dead letters: what \
            a stage could not use and set aside (the log of dead letters beside its own), and a push that was for a device \
            and came to nothing there, by its outcome:

              failed             given up; the reason says why
              unregistered       the device's token was no longer valid
              expired            it was too old before the transport took it
              unknown_transport  the device registered with a transport that the pipeline does not have

            A push that waits is none, nor is one that a newer one took the place of, or that no device was to have. \
            Counts by stage, code and reason come first, then the newest letters, each with what stands against a redrive.

              belfry dead-letters Pipelines/quickstart.yaml
              belfry dead-letters out --code failed --reason BadTopic --from -2h
              belfry dead-letters Pipelines/quickstart.yaml --user _alice --limit 100
              belfry dead-letters Pipelines/quickstart.yaml --stage match --json | jq -r .reason

            In a pipe, or with --json, an object for each letter, then a summary: type (letter, summary), log and \
            sequence, now, stage, code, status, reason, of (the event or push), event (its type), redrivable, obsolete, \
            by, impossible. Exits with 0.
            """)

    @OptionGroup var place: LetterPlace

    @OptionGroup(title: "Filters")
    var options: LetterOptions

    @Option(
        parsing: .unconditional,
        help: "Show so many letters at most, the newest (default: 20 on a terminal, all in a pipe; 0: counts alone).")
    var limit: Int?

    @OptionGroup var output: JSONOption

    func validate() throws {
        if let limit, limit < 0 { throw ValidationError("--limit takes a number from 0 on") }
    }

    func run() async throws {
        let text = LetterListText(found: try place.find(options.filter), limit: limit)
        if output.isWanted {
            try text.json { try StandardOutput.write(line: $0) }
        } else {
            for line in text.lines { try StandardOutput.write(line: line) }
        }
    }
}
