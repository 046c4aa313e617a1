import BuiltIns
import Foundation
import PipelineKit
import Testing

@testable import BelfryTool

struct StageProgramsTests {
    @Test func `belfry starts stages with its own program, even if a belfry-match is beside it`() throws {
        let folder = try TemporaryFolder()
        let other = try folder.file("belfry-match", "")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: other)
        let file = try PipelineFile.parse(fiveStages, file: "notes.yaml", folder: folder.path, registry: .builtIns)
        let belfry = folder.path + "/belfry"
        for stage in file.stagesInOrder {
            let command = StagePrograms(belfry: belfry).program(for: stage, pipeline: "notes.yaml").command
            #expect(command == [belfry, "stage", stage.name, "--pipeline", "notes.yaml"])
        }
    }
}
