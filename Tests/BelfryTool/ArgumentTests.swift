import ArgumentParser
import BuiltIns
import PipelineKit
import Testing

@testable import BelfryTool
@testable import Inspect
@testable import StageTool

struct ArgumentTests {
    /// Commands that the argument parser refuses.
    private static let wrong: [[String]] = [
        ["up"], ["run"], ["send"], ["validate"], ["tap", "match"], ["tap", "-p", "a.yaml"], ["log", "show"],
        ["log", "ls"],
        ["tap", "match", "-p", "a.yaml", "--from", "0"], ["tap", "match", "-p", "a.yaml", "--from", "start"],
        ["tap", "match", "-p", "a.yaml", "--limit", "0"], ["log", "show", "x", "--from", "yesterday"],
        ["log", "show", "x", "--until", "0"], ["log", "show", "x", "--limit", "-1"], ["send", "--door"],
        ["send", "a.yaml", "--timeout", "0"], ["send", "a.yaml", "--timeout", "soon"],
        ["send", "a.yaml", "--producer", ""],
        ["apns-server", "--port", "65536"], ["apns-server", "--streams", "0"],
        ["apns-server", "--key-id", "../KEYLOCA"],
        ["apns-server", "--json", "--show", "device"], ["apns-server", "--environment", "test"],
        ["upp", "a.yaml"], ["up", "a.yaml", "b.yaml"], ["run", "a.yaml", "--verbose"],
    ]

    @Test(arguments: wrong)
    func `a command with wrong arguments exits with the status for wrong usage`(arguments: [String]) {
        let error = #expect(throws: (any Error).self) { try BelfryCommand.parseAsRoot(arguments) }
        #expect(error.map { BelfryCommand.exitCode(for: $0).rawValue } == ToolStatus.usage.rawValue)
    }

    @Test func `--exit-when-done needs an input`() {
        let error = #expect(throws: (any Error).self) {
            try IngestProgram<AnyStage>.parseAsRoot(["--pipeline", "a.yaml", "--exit-when-done"])
        }
        #expect(
            error.map { IngestProgram<AnyStage>.message(for: $0) }
                == "--exit-when-done needs an input: a file or -")
    }

    @Test func `a tap starts at a position or at the end`() {
        #expect(TapStart(argument: "end") == .end)
        #expect(TapStart(argument: "1") == .sequence(1))
    }

    @Test func `a trace's arguments are checked`() throws {
        #expect(throws: (any Error).self) { try TraceCommand.parse([""]) }
        #expect(throws: (any Error).self) { try TraceCommand.parse(["a", "--limit", "0"]) }
        #expect(throws: (any Error).self) { try TraceCommand.parse(["a", "--json", "--tree"]) }
        #expect(throws: (any Error).self) { try TraceCommand.parse(["a", "--as", "thing"]) }
        let command = try TraceCommand.parse(["a", "--as", "apns-id", "--mermaid", "-p", "x", "--no-index"])
        #expect(command.kind == .apnsID && command.form == .mermaid && command.ignoresIndex)
    }

    @Test func `an invalid filter of dead letters is refused`() throws {
        for arguments in [["--from", "yesterday"], ["--until", "0"], ["--colour", "red"]] {
            #expect(throws: (any Error).self) { try DeadLetterOptions.parse(arguments) }
        }
    }

    @Test(
        arguments: [
            BelfryCommand.self, UpCommand.self, RunCommand.self, SendCommand.self, ValidateCommand.self,
            TapCommand.self,
            LogCommand.self, LogListCommand.self, LogShowCommand.self, LogVerifyCommand.self, LogStatCommand.self,
            LogRepairCommand.self, APNsServerCommand.self, IngestProgram<AnyStage>.self,
            StageProgram<AnyStage>.self,
        ] as [any ParsableCommand.Type])
    func `the help of a command has examples, in lines that fit a terminal`(command: any ParsableCommand.Type) {
        let help = command.helpMessage(columns: 80)
        let examples = help.split(separator: "\n").filter { $0.hasPrefix("  belfry") || $0.contains("| belfry") }
        #expect(examples.count >= 2, "\(help)")
        let discussion = command.configuration.discussion.split(separator: "\n")
        #expect(discussion.filter { $0.hasPrefix("  ") }.allSatisfy { $0.count <= 80 })
    }
}

private enum AnyStage: DescribedStageKind {
    static let kind = "match"
    static var registry: Registry { .builtIns }
    static let (abstract, reads, writes) = ("Does something.", "one log", "another")
}
