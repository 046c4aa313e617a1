import ArgumentParser
import Inspect
import JSON
import PipelineRuntime

struct TraceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trace",
        abstract: "Shows what caused an event and what it led to, in all logs.",
        discussion: """
            ID is one of: a change's sequence (17), an event's log and sequence (changes:17, matches:5, outcomes:3), a \
            record's name, a notification's ID, an apns-id, or a device's name. If ID is the sequence of an existing \
            event, that event is traced. Any other ID is looked up as each of the other kinds. If there are several \
            results, they are listed, the newest first.

            Prints a tree on a terminal: each event with its log and sequence, its time, and the time since its cause. \
            Otherwise, or with --json, prints one JSON object. Exits with 1 if nothing is found.

              belfry trace 17 -p Pipelines/quickstart.yaml
              belfry trace shopping -p Pipelines/quickstart.yaml --as record
              belfry trace 8b7ad895-9205-8d18-8832-28fcc73cae8a -p out
              belfry trace outcomes:3 -p out --json | jq .trace
              belfry trace 17 -p out --mermaid > trace.mmd

            --export FILE looks for a minimal set of inputs that still leads to the outcome, and writes it to FILE. \
            Without any one of these inputs, the outcome would be different. Pseudonyms replace people's names, tokens \
            and texts. `belfry run` with FILE leads to the outcome again, but prints a push instead of sending it. \
            --export needs the pipeline file: name it with -p.

              belfry trace outcomes:3 -p Pipelines/quickstart.yaml --export case.ndjson
              belfry trace outcomes:3 -p Pipelines/quickstart.yaml --logs out --export case.ndjson
              belfry trace 17 -p Pipelines/quickstart.yaml --export case.ndjson --user _alice --device alice-mac

            The first trace reads each log once and writes an index beside it, LOG/index, which you may remove at any time. \
            Later traces read only new events. With --no-index it writes nothing, and reads whole logs each time.
            """)

    @Argument(help: "The ID to trace: a sequence, LOG:SEQUENCE, a record, notification, apns-id or device.")
    var id: String

    @Option(
        name: .shortAndLong, help: "A pipeline file, its data folder, or a folder of logs (default: this folder).",
        completion: .file())
    var pipeline = "."

    @Option(help: "The folder of the logs (default: the pipeline's folder of logs).", completion: .directory)
    var logs: String?

    @Option(name: .customLong("as"), help: "The kind of ID: change, record, notification, apns-id or device.")
    var kind: TraceIDKind?

    @Option(parsing: .unconditional, help: "List at most this many results.")
    var limit = 10

    @Flag(exclusivity: .exclusive, help: "The form of the output.")
    var form: TraceForm?

    @Flag(name: .customLong("no-index"), help: "Neither read nor write the indexes beside the logs.")
    var ignoresIndex = false

    @Option(
        help: "Find a minimal set of inputs that leads to the outcome, and write it to this file with pseudonyms.",
        completion: .file())
    var export: String?

    @Option(help: "With --export: the user of the outcome, or the user who got no push.")
    var user: String?

    @Option(help: "With --export: the device of the outcome, or the device that got no push.")
    var device: String?

    func validate() throws {
        if export == nil, user != nil || device != nil {
            throw ValidationError("--user and --device need --export")
        }
        if id.isEmpty { throw ValidationError("ID is empty; see `belfry trace --help`") }
        if limit < 1 { throw ValidationError("--limit takes a number from 1 on, not \(limit)") }
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
            for line in lines(graph, kind) { try StandardOutput.write(line: line) }
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
        let more = hasMore ? "there are more results (--limit); " : ""
        let kinds = Set(hits.map(\.kind.rawValue)).sorted()
        let narrower = kinds.count > 1 ? ", or choose the kind of ID (--as \(kinds.joined(separator: "|")))" : ""
        guard let first = hits.first else { return }
        StandardError.write("\(more)trace one of them, such as \(first.event.place)\(narrower)")
    }
}

extension TraceIDKind: ExpressibleByArgument {}

/// The form of a printed trace.
enum TraceForm: String, EnumerableFlag {
    case tree, json, mermaid

    static func help(for value: TraceForm) -> ArgumentHelp? {
        switch value {
        case .tree: "Print a tree, also without a terminal."
        case .json: "Print one JSON object even on a terminal."
        case .mermaid: "Print a Mermaid flowchart."
        }
    }
}
