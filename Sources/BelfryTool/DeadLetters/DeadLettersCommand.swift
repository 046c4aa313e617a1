import ArgumentParser
import Inspect
import PipelineKit
import Time

struct DeadLettersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters",
        abstract: "Shows events and pushes that failed, and redrives them.",
        discussion: """
              belfry dead-letters Pipelines/quickstart.yaml            lists them: see belfry dead-letters list --help
              belfry dead-letters redrive Pipelines/quickstart.yaml    shows what would be sent again; --yes sends it
            """,
        subcommands: [DeadLettersListCommand.self, RedriveCommand.self],
        defaultSubcommand: DeadLettersListCommand.self)
}

/// The options that `belfry dead-letters list` and `belfry dead-letters redrive` share.
struct DeadLetterLogsOptions: ParsableArguments {
    @OptionGroup var place: RecordedPlaceOptions

    @Option(help: "The time for deciding which pushes have expired (RFC 3339; default: now).")
    var now: Instant?

    func find(_ filter: DeadLetterFilter, including included: [Obsolescence] = []) throws -> DeadLetters {
        try DeadLetters(
            RecordedLogs(place: place.pipeline, logs: place.logs), filter,
            RedriveEligibility(now: now ?? .wall(), included: Set(included)))
    }
}

struct DeadLettersListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists events and pushes that failed. Short form: `belfry dead-letters FILE`.",
        discussion: """
            Changes nothing, and works whether the pipeline is running or not. There are two kinds of dead letters: events \
            that a stage could not use (from the log of dead letters beside its own log), and pushes that did not reach \
            their device, with one of these outcomes:

              failed             the transport gave up; the reason says why
              unregistered       the device's token was no longer valid
              expired            the push expired before the transport accepted it
              unknown_transport  the device registered with a transport that the pipeline does not have

            Not included are pushes that wait, that a newer push replaced, or that had no device. The list begins with \
            counts by stage, code and reason. Then come the newest letters. If a letter cannot be redriven, its line \
            says why.

              belfry dead-letters Pipelines/quickstart.yaml
              belfry dead-letters out --code failed --reason BadTopic --from -2h
              belfry dead-letters Pipelines/quickstart.yaml --user _alice --limit 100
              belfry dead-letters Pipelines/quickstart.yaml --stage match --json | jq -r .reason

            In a pipe, or with --json, it prints an object for each letter, then a summary. Members of a letter: type \
            (letter), log and sequence, now, stage, code, status, reason, of (the event or push), event (its type), \
            container, environment, user, device, transport, topic, redrivable, obsolete, by, impossible. Exits with 0.
            """)

    @OptionGroup var deadLetterLogs: DeadLetterLogsOptions

    @OptionGroup(title: "Filters")
    var options: DeadLetterOptions

    @Option(
        parsing: .unconditional,
        help: "Show at most this many letters, the newest (default: 20 on a terminal, all in a pipe; 0: only counts).")
    var limit: Int?

    @OptionGroup var output: JSONOption

    func validate() throws {
        if let limit, limit < 0 { throw ValidationError("--limit takes a number from 0 on, not \(limit)") }
    }

    func run() async throws {
        let text = DeadLetterListText(found: try deadLetterLogs.find(options.filter), limit: limit)
        if output.isJSON {
            try text.json { try StandardOutput.write(line: $0) }
        } else {
            for line in text.lines { try StandardOutput.write(line: line) }
        }
    }
}
