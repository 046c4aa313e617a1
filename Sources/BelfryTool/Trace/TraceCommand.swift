import ArgumentParser
import Inspect
import JSON
import PipelineRuntime

struct TraceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trace",
        abstract: "Shows what caused an event and what it led to, through all logs.",
        discussion: """
            ID is any of: a change's sequence (17); an event's log and sequence (changes:17, matches:5, outcomes:3); a \
            record's name; a notification's ID; an apns-id; a device's name. It is looked up as each of them; where \
            several things have it, they are listed, the newest first.

            On a terminal a tree: each event with its log and sequence, its time, and the time since its cause. One \
            JSON object otherwise, or with --json. Exits with 1 where nothing is found.

              belfry trace 17 -p Pipelines/quickstart.yaml
              belfry trace shopping -p Pipelines/quickstart.yaml --as record
              belfry trace 8b7ad895-9205-8d18-8832-28fcc73cae8a -p out
              belfry trace outcomes:3 -p out --json | jq .trace
              belfry trace 17 -p out --mermaid > trace.mmd

            --export FILE writes the smallest slice of the pipeline's inputs that still leads to the outcome, with the \
            names, tokens and texts of people replaced by pseudonyms; `belfry run` on it shows the outcome again. It \
            needs the pipeline file.

              belfry trace outcomes:3 -p Pipelines/quickstart.yaml --export case.ndjson
              belfry trace outcomes:3 -p Pipelines/quickstart.yaml --logs out --export case.ndjson
              belfry trace 17 -p Pipelines/quickstart.yaml --export case.ndjson --user _alice --device alice-mac

            The first trace reads each log once and leaves an index in it, LOG/index, which may be removed at any time; \
            later ones read what is new. --no-index leaves nothing, and reads all of each log that it needs.
            """)

    @Argument(help: "What to trace: a sequence, LOG:SEQUENCE, a record, notification, apns-id or device.")
    var id: String

    @Option(
        name: .shortAndLong, help: "A pipeline file, its data folder, or a folder of logs (default: this folder).",
        completion: .file())
    var pipeline = "."

    @Option(help: "Where the logs are (default: where the pipeline file has them).", completion: .directory)
    var logs: String?

    @Option(name: .customLong("as"), help: "What ID is: change, record, notification, apns-id or device.")
    var kind: TraceIDKind?

    @Option(parsing: .unconditional, help: "List at most this many hits.")
    var limit = 10

    @Flag(exclusivity: .exclusive, help: "How to print it.")
    var form: TraceForm?

    @Flag(name: .customLong("no-index"), help: "Neither read nor write the indexes beside the logs.")
    var ignoresIndex = false

    @Option(
        help: "Write the smallest slice of inputs that gives the outcome again to this file, with pseudonyms.",
        completion: .file())
    var export: String?

    @Option(help: "With --export: the user whose outcome is meant, or who got no push.")
    var user: String?

    @Option(help: "With --export: the device whose outcome is meant, or that got no push.")
    var device: String?

    func validate() throws {
        if export == nil, user != nil || device != nil {
            throw ValidationError("--user and --device go with --export")
        }
        if id.isEmpty { throw ValidationError("ID is empty; give what `belfry trace --help` lists") }
        if limit < 1 { throw ValidationError("--limit takes a number from 1 on") }
    }

    private var place: String { logs ?? pipeline }

    func run() throws {
        try AbsentLogs.check(place)
        let logs = try TraceLogs(place: pipeline, logs: self.logs, usesIndexFiles: !ignoresIndex)
        switch try TraceSearch(logs: logs, limit: limit).find(id, as: kind) {
        case .targets(let events, let kind):
            let graph = try TraceGraph(of: events, Causality(logs))
            if let export {
                try AbsentLogs.checkGaps(in: place)
                return try self.export(events, graph, to: export)
            }
            for line in lines(graph, kind) {
                try StandardOutput.write(line: line)
            }
        case .hits(let hits, let hasMore):
            try list(hits, hasMore)
        case .nothing(let tried):
            StandardError.write("nothing found for '\(id.printable)': \(tried.joined(separator: "; "))")
            try AbsentLogs.checkGaps(in: place)
            throw ToolFailure(.no)
        }
        try AbsentLogs.checkGaps(in: place)
    }

    private func export(_ events: [TraceEvent], _ graph: TraceGraph, to path: String) throws {
        let target = try CaseTarget(
            events, graph, user: user.map { ExactText($0) }, device: device.map { ExactText($0) })
        try CaseFile.exportCase(
            target, pipeline: pipeline, logs: self.logs, to: path, ignoresIndex ? LogScan() : IndexFinder())
    }

    private var shown: TraceForm { form ?? (StandardOutput.isTerminal ? .tree : .json) }
    private var text: TraceText { TraceText(painter: Painter(isColoured: StandardOutput.isTerminal)) }

    private func lines(_ graph: TraceGraph, _ kind: TraceIDKind) -> [String] {
        switch shown {
        case .tree: text.lines(graph)
        case .json: [TraceJSON.text(graph, asked: id, as: kind)]
        case .mermaid: TraceMermaid.lines(graph)
        }
    }

    private func list(_ hits: [TraceHit], _ hasMore: Bool) throws {
        let lines =
            shown == .json ? [TraceJSON.text(hits, hasMore: hasMore, asked: id)] : hits.map(text.hit)
        for line in lines { try StandardOutput.write(line: line) }
        let more = hasMore ? "there are more (--limit); " : ""
        let kinds = Set(hits.map(\.kind.rawValue)).sorted()
        let narrower = kinds.count > 1 ? ", or say what it is (--as \(kinds.joined(separator: "|")))" : ""
        guard let first = hits.first else { return }
        StandardError.write("\(more)trace one of them, as \(first.event.place)\(narrower)")
    }
}

extension TraceIDKind: ExpressibleByArgument {}

/// How a trace is printed.
enum TraceForm: String, EnumerableFlag {
    case tree, json, mermaid

    static func help(for value: TraceForm) -> ArgumentHelp? {
        switch value {
        case .tree: "Print a tree, also where no terminal is."
        case .json: "Print one JSON object, also on a terminal."
        case .mermaid: "Print a Mermaid flowchart."
        }
    }
}
