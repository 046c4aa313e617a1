import BuiltIns
import EventLog
import Foundation
import PipelineKit
import PipelineRuntime
import Replay
import Synchronization
import TestSupport
import Testing

@testable import BelfryTool

/// Runs each scenario, `Pipelines/NAME.scenarios/SCENARIO.ndjson`, as `belfry run` does. Compares its pushes, errors
/// and logs with the expected ones in the files beside the scenario.
@Suite struct Scenarios {
    struct Scenario: Sendable, CustomTestStringConvertible {
        let pipeline: String
        let input: URL

        var pipelineFile: String {
            Scenarios.pipelines.appending(path: pipeline + ".yaml").path(percentEncoded: false)
        }

        private var base: URL { input.deletingPathExtension() }
        var pushes: URL { base.appendingPathExtension("pushes.ndjson") }
        /// The expected errors of input lines. If the file is missing, no errors are expected.
        var errors: URL { base.appendingPathExtension("errors.txt") }
        /// A folder of expected logs, as `belfry log show LOG --bare` prints them.
        var logs: URL { base.appendingPathExtension("logs") }
        var testDescription: String { "\(pipeline): \(base.lastPathComponent)" }
    }

    private struct Results {
        let pushes: String
        let errors: String
        let folder: Folder

        func log(_ name: String) throws -> String {
            let reader = try EventLogReader(directory: folder.path + "/logs/" + name, from: .beginning)
            var text = ""
            while let batch = try reader.next() { text += String(decoding: batch.body, as: UTF8.self) }
            return text
        }

        func differencesFromReplay(_ file: PipelineFile) async throws -> [ReplayDifference] {
            let recorded = try RecordedPipeline(file, logs: folder.path + "/logs")
            let results = try await PipelineReplay(recorded, MachineFactory(registry: .builtIns)).run()
            return results.compactMap(\.difference)
        }
    }

    private static let pipelines = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().appending(
            path: "Pipelines")

    static func all() throws -> [Scenario] {
        try files(in: pipelines).filter { $0.pathExtension == "scenarios" }.flatMap { folder in
            try files(in: folder)
                .filter { $0.pathExtension == "ndjson" && !$0.lastPathComponent.hasSuffix(".pushes.ndjson") }
                .map { Scenario(pipeline: folder.deletingPathExtension().lastPathComponent, input: $0) }
        }.sorted { $0.testDescription < $1.testDescription }
    }

    private static func files(in folder: URL) throws -> [URL] {
        guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    }

    private static func text(of file: URL) throws -> String {
        String(decoding: try Data(contentsOf: file), as: UTF8.self)
    }

    @Test func `each pipeline file has scenarios`() throws {
        let names = try Self.files(in: Self.pipelines).filter { $0.pathExtension == "yaml" }
            .map { $0.deletingPathExtension().lastPathComponent }
        #expect(Set(try Self.all().map(\.pipeline)) == Set(names))
    }

    @Test(arguments: try all())
    func `a scenario leads to exactly the expected pushes, errors and logs`(_ scenario: Scenario) async throws {
        let file = try PipelineFile.load(path: scenario.pipelineFile, registry: .builtIns)
        guard file.stages.allSatisfy(\.command.isEmpty) || Python.hasZeroMQ else {
            return print("\(scenario.testDescription): skipped, \(Python.missing)")
        }
        let results = try await Self.run(file, scenario.input)
        #expect(results.pushes == (try Self.text(of: scenario.pushes)))
        let hasErrors = FileManager.default.fileExists(atPath: scenario.errors.path)
        #expect(results.errors == (hasErrors ? try Self.text(of: scenario.errors) : ""))
        for log in try Self.files(in: scenario.logs) {
            let name = log.deletingPathExtension().lastPathComponent
            #expect(try results.log(name) == Self.text(of: log), "log \(name)")
        }
        #expect(try DeclaredEvents.problems(inLogsUnder: results.folder.path + "/logs") == [])
        guard file.stages.allSatisfy(\.command.isEmpty) else { return }
        #expect(try await results.differencesFromReplay(file) == [])
    }

    private static func run(_ file: PipelineFile, _ input: URL) async throws -> Results {
        let folder = try Folder()
        let pushes = Mutex<[UInt8]>([])
        let errors = Mutex("")
        let path = input.path(percentEncoded: false)
        let run = PipelineRun(
            file, data: folder.path, sources: [InputSource(path: path)],
            writer: PushWriter { bytes in pushes.withLock { $0 += bytes } },
            reportLine: { line in
                errors.withLock { $0 += line.replacing(path, with: input.lastPathComponent) + "\n" }
            })
        _ = try await run.run()
        return Results(
            pushes: String(decoding: pushes.withLock { $0 }, as: UTF8.self), errors: errors.withLock { $0 },
            folder: folder)
    }
}
