import ArgumentParser
import BelfryTestKit
import BuiltIns
import Foundation
import Glibc
import JSON
import PipelineKit
import PipelineRuntime
import PipelineTestKit

struct ConformanceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conformance",
        abstract: "Checks whether a stage or a plugin program follows the rules for stages.",
        discussion: """
            Feeds sample events from all of Belfry's logs to the stage or program, in several ways, and reports the \
            result for each rule. A source, such as ingest, gets sample commands instead. A stage is named by its kind; \
            everything else is a program with its arguments, which is started about fifteen times. Text that the \
            program prints goes to standard error. Exits with 0 if no rule is broken, otherwise with 1.

              belfry conformance /usr/bin/python3 Pipelines/plugins/quiet_types.py Draft
              belfry conformance --directory plugins -- python3 filter.py --json
              belfry conformance coalesce --settings '{window: 1s, policy: debounce}'
              belfry conformance deliver --settings '{transports: {apns: {use: console}}}'
              belfry log show .belfry/quickstart/logs/matches --bare > matches.ndjson
              belfry conformance ./filter --events matches.ndjson

            For a Swift stage of your own, run the same checks in its tests with StageConformance of PipelineTestKit.
            """)

    @Argument(
        parsing: .allUnrecognized,
        help: ArgumentHelp(
            "A stage's kind, or a program and its arguments (after -- if they are also options of this command).",
            valueName: "command"))
    var words: [String]

    @Option(help: "The stage's settings as in a pipeline file: {window: 1s}.")
    var settings: String?

    @Option(help: "The folder that the program starts in.", completion: .directory)
    var directory: String?

    @Option(
        help: "A file with the events to use instead of Belfry's samples, one JSON object a line.", completion: .file())
    var events: String?

    @Flag(help: "Print NDJSON: a line for each rule and a summary.")
    var json = false

    @Option(help: ArgumentHelp("Check one rule of a stage, in this process.", visibility: .hidden))
    var rule: String?

    /// The words without the leading `--`, which the parser keeps.
    private var command: [String] { Array(words.first == "--" ? words.dropFirst() : words[...]) }

    func validate() throws {
        if command.isEmpty { throw ValidationError("name a stage, or a program with its arguments") }
    }

    func run() async throws {
        let events = try events.map(EventsFile.lines)
        var report = ConformanceReport(name: command.joined(separator: " "), isJSON: json || !StandardOutput.isTerminal)
        if let stage = Registry.builtIns.stages[command[0]], command.count == 1 {
            if let directory {
                throw ToolFailure(.usage, "--directory \(directory) is for programs; \(command[0]) is a stage")
            }
            let check = try stageConformance(of: stage, events)
            if let rule = rule.flatMap(ConformanceRule.init(rawValue:)) {
                return try RuleProcess.printResult(of: rule, for: check)
            }
            try await checkStage(&report)
        } else {
            try checkProgram()
            let check = try ProgramConformance(command, directory: directory, events: events)
            for result in try await check.results() { try report.add(result) }
        }
        try report.end()
    }

    private func stageConformance<S: Stage>(of stage: S.Type, _ events: [String]?) throws -> StageConformance {
        do { return try StageConformance(stage, settings: settings ?? "{}", events: events) } catch {
            throw ToolFailure.usage(explaining: error)
        }
    }

    /// Checks each rule in a process of its own, so that a crash fails one rule only.
    private func checkStage(_ report: inout ConformanceReport) async throws {
        var arguments = ["conformance", command[0]]
        for (name, value) in [("--settings", settings), ("--events", events)] {
            if let value { arguments += [name, value] }
        }
        for rule in ConformanceRule.ofStages {
            try report.add(try await RuleProcess.result(of: rule, arguments))
        }
    }

    private func checkProgram() throws {
        if let settings {
            throw ToolFailure(.usage, "--settings \(settings) is for stages; give a program its settings as arguments")
        }
        var status = stat()
        if let directory, stat(directory, &status) != 0 || status.st_mode & S_IFMT != S_IFDIR {
            throw ToolFailure(.noInput, "--directory \(directory): no such folder")
        }
        let isPath = command[0].contains("/")
        let path = isPath && !command[0].hasPrefix("/") ? "\(directory ?? ".")/\(command[0])" : command[0]
        guard ChildProcess.find(path) == nil, ChildProcess.find(command[0]) == nil else { return }
        let known = Registry.builtIns.stages.keys.sorted()
        let near = Spelling.suggestion(for: command[0], among: known).map { "\($0) " } ?? ""
        throw ToolFailure(
            .unavailable,
            "\(command[0]) is neither a stage nor a program (a path, or a name in PATH); \(near)the stages are "
                + known.joined(separator: ", "))
    }
}

/// A file of events.
private enum EventsFile {
    static func lines(of path: String) throws -> [String] {
        guard let data = FileManager.default.contents(atPath: path) else {
            let reason = access(path, R_OK) == 0 ? "it is not a file" : String(cString: strerror(errno))
            throw ToolFailure(.noInput, "cannot read \(path): \(reason)")
        }
        let all = String(decoding: data, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        var lines: [String] = []
        var parser = JSONParser(limits: EventReader.linkLimits)
        for (index, line) in all.enumerated() where !line.isEmpty {
            let problem: String? = Array(line.utf8).withUnsafeBytes { bytes in
                do throws(JSONError) { return try parser.parse(bytes).isObject ? nil : "not a JSON object" } catch {
                    return "\(error)"
                }
            }
            if let problem { throw ToolFailure(.badData, "\(path):\(index + 1): \(problem)") }
            lines.append(String(line))
        }
        if lines.count < 2 {
            throw ToolFailure(.noInput, "\(path) contains \(lines.count.of("event")); at least two are needed")
        }
        return lines
    }
}
