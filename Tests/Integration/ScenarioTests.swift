import Foundation
import PipelineKit
import PipelineRuntime
import TestSupport
import Testing

/// Every `Pipelines/NAME.scenarios/*.ndjson` makes the pushes beside it, to the byte, as `belfry run` does.
@Suite struct Scenarios {
    struct Scenario: Sendable, CustomTestStringConvertible {
        let pipeline: String
        let input: URL

        var expected: URL { input.deletingPathExtension().appendingPathExtension("pushes.ndjson") }
        var testDescription: String { "\(pipeline): \(input.deletingPathExtension().lastPathComponent)" }
    }

    private static let pipelines = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().appending(
            path: "Pipelines")

    private static func all() throws -> [Scenario] {
        let folders = try FileManager.default.contentsOfDirectory(at: pipelines, includingPropertiesForKeys: nil)
        return try folders.filter { $0.pathExtension == "scenarios" }.flatMap { folder in
            let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            return files.filter { $0.pathExtension == "ndjson" && !$0.lastPathComponent.hasSuffix(".pushes.ndjson") }
                .map { Scenario(pipeline: folder.deletingPathExtension().lastPathComponent, input: $0) }
        }.sorted { $0.testDescription < $1.testDescription }
    }

    @Test func everyPipelineFileHasScenarios() throws {
        let files = try FileManager.default.contentsOfDirectory(at: Self.pipelines, includingPropertiesForKeys: nil)
        let names = files.filter { $0.pathExtension == "yaml" }.map { $0.deletingPathExtension().lastPathComponent }
        #expect(Set(try Self.all().map(\.pipeline)) == Set(names))
    }

    @Test(arguments: try all())
    func aScenarioMakesExactlyThePushesBesideIt(_ scenario: Scenario) async throws {
        let path = Self.pipelines.appending(path: scenario.pipeline + ".yaml").path(percentEncoded: false)
        let file = try PipelineFile.load(path: path)
        guard file.stages.allSatisfy(\.command.isEmpty) || Python.hasZeroMQ else {
            return print("\(scenario.testDescription): skipped, \(Python.missing)")
        }
        let input = String(decoding: try Data(contentsOf: scenario.input), as: UTF8.self)
        let expected = String(decoding: try Data(contentsOf: scenario.expected), as: UTF8.self)
        let pipeline = try VirtualPipeline(file)
        try await pipeline.live(input.split(separator: "\n").map(String.init), cuts: [], drains: true)
        let pushes = pipeline.pushes.map { $0 + "\n" }.joined()
        #expect(pushes == expected)
    }
}
