import ArgumentParser
import EventLog
import Inspect
import PipelineRuntime

extension LogPosition: ExpressibleByArgument {}

struct LogShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Prints a log's events.",
        discussion: """
            Prints one line for each event: for people on a terminal, otherwise {"sequence":17,"now":"...","event":{...}}. \
            Exits with 1 if it finds no event.

              belfry log show changes -p Pipelines/quickstart.yaml
              belfry log show matches -p Pipelines/quickstart.yaml --from 100 --limit 20
              belfry log show out/matches --from 2026-11-20T09:30:00Z --limit 20
              belfry log show out/pushes --from -10m --user _alice
              belfry log show out/outcomes --where outcome=failed --where status=410
              belfry log show out/pushes --follow | jq -c .event.payload
            """)

    @Argument(help: "A log's folder, or its name in the place given with -p.", completion: .directory)
    var log: String

    @Option(name: .shortAndLong, help: "The place of LOG: a pipeline file or a folder.", completion: .file())
    var pipeline: String?

    @Option(
        parsing: .unconditional,
        help: "Begin with this sequence, time (RFC 3339), or time before the last event (-10m).")
    var from: LogPosition?

    @Option(
        parsing: .unconditional,
        help: "End with this sequence, time, or time before the last event.")
    var until: LogPosition?

    @OptionGroup(title: "Filters")
    var filter: EventFilter

    @Option(parsing: .unconditional, help: "Stop after this many events.")
    var limit: UInt64?

    @Flag(name: .shortAndLong, help: "Wait for more events at the end.")
    var follow = false

    @Flag(help: "Print only the events, without sequence and time.")
    var bare = false

    func validate() throws {
        if limit == 0 { throw ValidationError("--limit takes a number from 1 on, not 0") }
    }

    func run() throws {
        let directory = try LogPlace.log(log, pipeline: pipeline)
        var show = LogShow(
            printer: .standard(eventsOnly: bare), filter: filter.isEmpty ? nil : filter,
            from: try from?.point(in: directory), until: try until?.point(in: directory), eventsLeft: limit ?? .max,
            follows: follow)
        do { try show.run(directory) } catch EventLogError.gone(_, let sequence, let first) {
            let gap = try AbsentLogs.gap(ofLogAt: directory)?.message ?? "retention removed the events before"
            throw ToolFailure(
                .badData,
                "\(LogPlace.name(ofLogAt: directory)) no longer has sequence \(sequence): it begins with \(first) (\(gap)); "
                    + "use --from \(first)")
        }
        if from == nil, let gap = try AbsentLogs.gap(ofLogAt: directory) { throw gap }
        if show.printed == 0 { throw ToolFailure(.no, try LogShowCommand.textIfNothingMatched(in: directory)) }
    }

    private static func textIfNothingMatched(in directory: String) throws -> String {
        let log = try EventLogs.summary(directory: directory)
        guard log.firstSequence <= log.lastSequence, let first = log.firstNow, let last = log.lastNow else {
            return "\(log.name) is empty"
        }
        return
            "nothing matched; \(log.name) contains sequences \(log.firstSequence) to \(log.lastSequence), \(first) to "
            + "\(last); `belfry log stat` counts its events by type"
    }
}
