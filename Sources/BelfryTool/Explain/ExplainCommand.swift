import ArgumentParser
import Inspect
import JSON
import PipelineKit
import PipelineRuntime

struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Says why a change was or was not pushed.",
        discussion: """
            Runs the rules of match again for this change and this user, clause by clause. Then it follows the change \
            through the logs. Every reason has a code, and the manual has a page on codes.

              belfry explain --change 17 --device alice-mac -p Pipelines/quickstart.yaml
              belfry explain --change 17 --user _alice -p Pipelines/quickstart.yaml
              belfry explain --change 17 --subscription my-notes -p .belfry/quickstart
              belfry explain --change 17 --user _alice -p Pipelines/quickstart.yaml --logs out
              belfry explain --change 17 --user _alice -p out --json | jq -r .code

            The first call reads the whole log of changes and writes an index beside it, LOG/index. Some answers need \
            an index of another log too. You may remove an index at any time. With --no-index it writes nothing, and \
            reads whole logs each time.

            On a terminal it prints text, and into a pipe or a file one JSON object.

            Exit status 0: it was pushed; 1: it was not.
            """)

    @Option(help: "The change's sequence in the log of changes.")
    var change: UInt64

    @Option(help: "The device that got the push, or did not.")
    var device: String?

    @Option(help: "Explain all devices of this user. With --device or --subscription: its owner.")
    var user: String?

    @Option(help: "The ID of the subscription that matched the change, or did not.")
    var subscription: String?

    @Option(name: .shortAndLong, help: "A pipeline file, its data folder, or a folder of logs.", completion: .file())
    var pipeline = "."

    @Option(help: "The folder of the logs (default: the pipeline's folder of logs).", completion: .directory)
    var logs: String?

    @Flag(help: "Print one JSON object even on a terminal.")
    var json = false

    @Flag(name: .customLong("no-index"), help: "Neither read nor write the indexes beside the logs.")
    var ignoresIndex = false

    func validate() throws {
        if device == nil, user == nil, subscription == nil {
            throw ValidationError("name a device, a user or a subscription with --device, --user or --subscription")
        }
        if change == 0 { throw ValidationError("--change takes a number from 1 on, not 0") }
    }

    func run() throws {
        let logs = try RecordedLogs(place: pipeline, logs: self.logs)
        let change = try ExplainedChange(change, in: logs)
        let finder: any EventFinder = ignoresIndex ? LogScan() : IndexFinder()
        let asked = AskedSubject(user: user, device: device, subscriptionID: subscription)
        let subject = try asked.resolve(for: change, in: logs, finder)
        let answer = try ExplainedAnswer(change, subject, in: logs, finder)
        if json || !StandardOutput.isTerminal {
            try StandardOutput.write(line: answer.json)
        } else {
            let printer = ExplanationPrinter(painter: Painter(isColoured: true))
            for line in printer.lines(of: answer) { try StandardOutput.write(line: line) }
        }
        try AbsentLogs.checkGaps(in: self.logs ?? pipeline)
        if !answer.isPushed { throw ToolFailure(.no) }
    }
}
