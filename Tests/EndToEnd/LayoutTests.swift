import BuiltIns
import Foundation
import JSON
import PipelineKit
import TestSupport
import Testing

/// Rules that the build does not check: which modules a module imports, and what its sources contain. SwiftPM accepts
/// the import of a target that the module does not declare as a dependency. The first test rejects such an import,
/// unless the target is a C library.
@Suite struct Layout {
    private struct Module: Sendable {
        let name: String
        let folder: URL
        let dependencies: Set<String>
    }

    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test func `every imported Swift target is a declared dependency`() throws {
        let modules = try Self.modules.get()
        let names = Set(modules.map(\.name))
        #expect(names.isSuperset(of: ["JSON", "Match", "belfry"]))
        for module in modules {
            for (file, imported) in try Self.imports(of: module) where names.contains(imported) {
                #expect(
                    module.dependencies.contains(imported),
                    "\(file) imports \(imported), but \(module.name) does not declare it")
            }
        }
    }

    @Test func `a stage or transport imports neither another stage or transport nor the runtime`() throws {
        let modules = try Self.modules.get()
        let parts = modules.filter { module in
            ["Sources/Stages/", "Sources/Transports/"].contains { module.folder.path.contains($0) }
        }
        #expect(parts.count >= 7)
        let forbidden = Set(
            parts.map(\.name) + ["PipelineRuntime", "ZeroMQ", "CZeroMQ", "BelfryTool", "BuiltInStages", "BuiltIns"])
        for part in parts { #expect(part.dependencies.isDisjoint(with: forbidden), "\(part.name)") }
    }

    @Test func `commands and benches do not import each other`() throws {
        for (one, other) in [("BelfryTool", "Bench"), ("Bench", "BelfryTool")] {
            let module = try #require(try Self.modules.get().first { $0.name == one })
            #expect(!module.dependencies.contains(other))
        }
    }

    @Test func `PipelineTestKit does not depend on transports, the modules of built-ins or SwiftNIO`() throws {
        let modules = Dictionary(uniqueKeysWithValues: try Self.modules.get().map { ($0.name, $0.dependencies) })
        var (left, seen) = (["PipelineTestKit"], Set<String>())
        while let name = left.popLast() {
            if seen.insert(name).inserted { left += modules[name] ?? [] }
        }
        #expect(seen.contains("PipelineRuntime"))
        #expect(!seen.contains { $0.hasPrefix("BuiltIn") || $0.hasPrefix("Transport") || $0.hasPrefix("NIO") })
    }

    @Test func `PipelineKit, PipelineRuntime and the tools do not import a built-in stage`() throws {
        let modules = try Self.modules.get()
        let stages = Set(modules.filter { $0.folder.path.contains("Sources/Stages/") }.map(\.name))
        for name in ["PipelineKit", "PipelineRuntime", "Replay", "StageTool", "Inspect", "BelfryTool"] {
            let module = try #require(modules.first { $0.name == name })
            #expect(module.dependencies.isDisjoint(with: stages), "\(name)")
        }
    }

    @Test func `stages do not import EventLog`() throws {
        let stages = try Self.modules.get().filter { $0.folder.path.contains("Sources/Stages/") }
        #expect(stages.count >= 5)
        for stage in stages { #expect(!stage.dependencies.contains("EventLog"), "\(stage.name)") }
    }

    @Test func `Inspect, Replay and PipelineRuntime do not import ArgumentParser`() throws {
        let libraries = try Self.modules.get().filter { ["Inspect", "Replay", "PipelineRuntime"].contains($0.name) }
        #expect(libraries.count == 3)
        for library in libraries {
            for (file, imported) in try Self.imports(of: library) { #expect(imported != "ArgumentParser", "\(file)") }
        }
    }

    /// Tools find a stage by the log that it writes, so a new stage needs no change in the tools. In one file
    /// `"deliver"` is allowed, because there it names a message of a replay worker, not the stage.
    @Test func `neither PipelineKit nor the tools name a built-in stage`() throws {
        let kinds = Registry.builtIns.stages.keys.map { "\"\($0)\"" }
        #expect(kinds.count >= 5)
        let allowed = ["WorkerReply+JSON.swift": "\"deliver\""]
        for name in ["PipelineKit", "Inspect", "Replay", "StageTool", "BelfryTool"] {
            let module = try #require(try Self.modules.get().first { $0.name == name })
            for source in Self.sources(of: module) {
                let text = try String(contentsOf: source, encoding: .utf8)
                let file = source.lastPathComponent
                #expect(kinds.filter { $0 != allowed[file] && text.contains($0) } == [], "\(file)")
            }
        }
    }

    @Test(arguments: [("CZeroMQ", "ZeroMQ"), ("COpenSSL", "Signing"), ("CNATS", "NATS")])
    func `only ZeroMQ imports CZeroMQ, Signing COpenSSL and NATS CNATS, apart from their tests`(
        library: String, owner: String
    ) throws {
        for module in try Self.modules.get() where ![owner, owner + "Tests"].contains(module.name) {
            for (file, imported) in try Self.imports(of: module) { #expect(imported != library, "\(file)") }
        }
    }

    /// `Tests/tiers.json` limits how many processes a test may start. A process that is not counted escapes the limit.
    @Test func `every test file that starts a process counts it`() throws {
        let tests = Self.root.appending(path: "Tests")
        let files = FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil)?.allObjects ?? []
        let sources = files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
        #expect(sources.count > 200)
        for source in sources {
            let text = try String(contentsOf: source, encoding: .utf8)
            let startsProcess = text.contains(
                /\b(Process\(\)|Process\.run\(|ChildProcess\(\[|posix_spawnp?\(&|popen\()/)
            #expect(!startsProcess || text.contains("Cost.spend("), "\(source.lastPathComponent)")
        }
    }

    private static let modules = Result<[Module], any Error> {
        let text = try manifest()
        var parser = JSONParser(limits: JSONLimits(bytesMax: 16 << 20))
        return try text.withUnsafeBytes { bytes in
            try #require(try parser.parse(bytes)["targets"]).elements.compactMap(module)
        }
    }

    private static func module(_ target: JSONValue) -> Module? {
        guard let name = target["name"]?.string, target["type"]?.string != "system" else { return nil }
        let standard = (target["type"]?.string == "test" ? "Tests/" : "Sources/") + name
        let dependencies = target["dependencies"].map { $0.elements.compactMap(dependency) } ?? []
        return Module(
            name: name, folder: root.appending(path: target["path"]?.string ?? standard),
            dependencies: Set(dependencies))
    }

    private static func dependency(_ value: JSONValue) -> String? {
        for kind in ["byName", "target", "product"] {
            if let list = value.member(kind) { return list.elements.first { _ in true }?.string }
        }
        return nil
    }

    /// The contents of Package.swift as JSON. SwiftPM gets a scratch folder of its own, because the build that runs
    /// this test has locked the usual scratch folder.
    private static func manifest() throws -> Data {
        Cost.spend(.processes)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "swift", "package", "dump-package", "--package-path", root.path, "--scratch-path",
            root.appending(path: ".build/manifest").path,
        ]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return data
    }

    private static func sources(of module: Module) -> [URL] {
        let files = FileManager.default.enumerator(at: module.folder, includingPropertiesForKeys: nil)
        return (files?.allObjects ?? []).compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
    }

    private static func imports(of module: Module) throws -> [(file: String, module: String)] {
        try sources(of: module).flatMap { source in
            try String(contentsOf: source, encoding: .utf8).split(separator: "\n").compactMap { line in
                let words = line.split(separator: " ")
                guard let position = words.firstIndex(of: "import"), position <= 1, position + 1 < words.count else {
                    return nil
                }
                return (source.lastPathComponent, String(words[position + 1]))
            }
        }
    }
}
