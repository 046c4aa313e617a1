import Foundation
import PipelineRuntime
import TestSupport
import Testing

@testable import BelfryTool

@Suite("Files that too many users can access")
struct ExposedFilesTests {
    @Test func `the doctor's commands also correct the files behind links in the data folder`() throws {
        let folder = try Folder()
        for name in ["data/logs", "disk/segments"] {
            try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: true)
            try folder.write("{}", to: name + "/1.log")
        }
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("data/other"), withDestinationPath: folder.file("disk"))
        func exposed() -> ExposedFiles { ExposedFiles(in: folder.file("data"), .owner) }
        #expect(try Self.sh("chmod -R a+rX \(folder.path)") == 0)
        #expect(exposed().files.count == 6)
        let fix = try #require(exposed().finding(in: folder.file("data"))?.fix)
        #expect(try Self.sh(String(fix.prefix { $0 != "(" })) == 0)
        #expect(exposed().files.isEmpty)
    }

    private static func sh(_ command: String) throws -> Int32 {
        Cost.spend(.processes)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", command]
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }
}
