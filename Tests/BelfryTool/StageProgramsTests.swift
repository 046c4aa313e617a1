import Foundation
import PipelineKit
import Testing

@testable import BelfryTool

struct StageProgramsTests {
    @Test func `a kind's own program is taken where it lies beside belfry`() throws {
        let folder = try TemporaryFolder()
        let own = try folder.file("belfry-match", "")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: own)
        let file = try PipelineFile.parse(fiveStages, file: "notes.yaml", folder: folder.path)
        let programs = StagePrograms(belfry: folder.path + "/belfry")
        let commands = file.stagesInOrder.map { programs.program(for: $0, pipeline: "notes.yaml").command }
        #expect(commands[1] == [own, "--pipeline", "notes.yaml", "--stage", "match"])
        #expect(commands[2] == [folder.path + "/belfry", "stage", "coalesce", "--pipeline", "notes.yaml"])
    }

    @Test func `a plugin's host is belfry itself`() throws {
        let folder = try TemporaryFolder()
        let own = try folder.file("belfry-match", "")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: own)
        let text = fiveStages.replacing(
            "match: { from: ingest }", with: "match: { from: ingest, command: [python3, f.py] }")
        let file = try PipelineFile.parse(text, file: "notes.yaml", folder: folder.path)
        let program = StagePrograms(belfry: folder.path + "/belfry").program(
            for: try #require(file.stage(named: "match")), pipeline: "notes.yaml")
        #expect(program.command == [folder.path + "/belfry", "stage", "match", "--pipeline", "notes.yaml"])
    }
}
