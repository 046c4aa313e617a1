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
        abstract: "Tries whether a stage, or a program behind `command:`, keeps the rules of the plugin contract.",
        discussion: """
            Feeds it events of every type that Belfry's logs hold, in several ways, and says of each rule whether it is \
            kept. A stage is named by its kind; anything else is a program with its arguments, and is started about \
            ten times. What it prints goes to standard error. Exits with 0 where every rule is kept, else with 1.

              belfry conformance /usr/bin/python3 Pipelines/plugins/quiet_types.py Draft
              belfry conformance --directory plugins -- python3 filter.py --json
              belfry conformance coalesce --settings '{window: 1s, policy: debounce}'
              belfry conformance deliver --settings '{transports: {apns: {use: console}}}'
              belfry log show .belfry/quickstart/logs/matches --bare > matches.ndjson
              belfry conformance ./filter --events matches.ndjson

            A stage of your own, in Swift, is tried the same in its tests: StageConformance in PipelineTestKit.
            """)

    @Argument(
        parsing: .allUnrecognized,
        help: ArgumentHelp(
            "A stage's kind, or a program and its arguments (behind -- where they are options of this command too).",
            valueName: "command"))
    var words: [String]

    @Option(help: "The stage's settings as a pipeline file has them: {window: 1s}.")
    var settings: String?

    @Option(help: "The folder that the program starts in.", completion: .directory)
    var directory: String?

    @Option(
        help: "What to feed in place of Belfry's own events: a file with one JSON object a line.", completion: .file())
    var events: String?

    @Flag(help: "Print NDJSON: a line for each rule and a summary.")
    var json = false

    @Option(help: ArgumentHelp("Try one rule of a stage, in this process.", visibility: .hidden))
    var rule: String?

    /// What is tried; the parser leaves the -- before it.
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
            let tried = try stageConformance(of: stage, events)
            if let rule = rule.flatMap(ConformanceRule.init(rawValue:)) { return try RuleProcess.answer(tried, rule) }
            try await tryStage(&report)
        } else {
            try checkProgram()
            let tried = try ProgramConformance(command, directory: directory, events: events)
            for result in try await tried.results() { try report.tell(result) }
        }
        try report.end()
    }

    private func stageConformance<S: Stage>(of stage: S.Type, _ events: [String]?) throws -> StageConformance {
        try StageConformance(stage, settings: settings ?? "{}", events: events)
    }

    /// Each rule in a process of its own: a stage that traps breaks that rule alone.
    private func tryStage(_ report: inout ConformanceReport) async throws {
        var arguments = ["conformance", command[0]]
        for (name, value) in [("--settings", settings), ("--events", events)] {
            if let value { arguments += [name, value] }
        }
        for rule in ConformanceRule.ofStages {
            try report.tell(try await RuleProcess.result(of: rule, arguments))
        }
    }

    private func checkProgram() throws {
        if let settings {
            throw ToolFailure(.usage, "--settings \(settings) is for stages; a program has its arguments")
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
            .noInput,
            "\(command[0]) is neither a stage nor a program, as a path or in PATH; \(near)the stages are "
                + known.joined(separator: ", "))
    }
}

/// A file of events.
private enum EventsFile {
    static func lines(of path: String) throws -> [String] {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ToolFailure(.noInput, "cannot read \(path)")
        }
        let lines = String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
        var parser = JSONParser(limits: EventReader.linkLimits)
        for (index, line) in lines.enumerated() {
            let problem: String? = Array(line.utf8).withUnsafeBytes { bytes in
                do throws(JSONError) { return try parser.parse(bytes).isObject ? nil : "it is no JSON object" } catch {
                    return "\(error)"
                }
            }
            if let problem { throw ToolFailure(.badData, "\(path):\(index + 1): \(problem)") }
        }
        if lines.count < 2 { throw ToolFailure(.noInput, "\(path) holds \(lines.count.of("event")): give some more") }
        return lines
    }
}
