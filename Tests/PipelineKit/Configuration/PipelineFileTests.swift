import Events
import Foundation
import TestSupport
import Testing
import Time

@testable import PipelineKit

@Suite struct PipelineFileTests {
    static let quickstart = """
        pipeline: quickstart
        data: ../.belfry/quickstart
        seed: "a seed"
        log:
          sync: interval 50ms
          segmentBytes: 64 MiB
          snapshotBytes: 16MiB
          retention: {age: 30d, bytes: 100GiB, deadLetters: 12h}
        stages:
          coalesce:
            from: filter
            window: 2s
          ingest:
            bind: tcp://127.0.0.1:7411
            door: tcp://127.0.0.1:7410
          filter:
            from: match
            command: [python3, hot-only.py]
            directory: ../plugins
          match:
            from: ingest
          tally:
            stage: match
            from: ingest
            log: tallies
            bind: ipc://tally.link
        """

    private func quickstart() throws -> PipelineFile {
        var registry = Registry()
        registry.register(Matching.self)
        return try PipelineFile.parse(Self.quickstart, file: "Pipelines/quickstart.yaml", registry: registry)
    }

    @Test func `the keys of the pipeline, its log and its stages are read`() throws {
        let file = try quickstart()
        #expect(file.name == "quickstart")
        #expect(file.data == ".belfry/quickstart")
        #expect(file.seed == "a seed")
        let retention = RetentionSettings(
            age: .seconds(30 * 86_400), bytes: 100 << 30, deadLetters: .seconds(12 * 3_600))
        #expect(
            file.log
                == LogSettings(
                    sync: .interval(.milliseconds(50)), segmentBytes: 64 << 20, snapshotBytes: 16 << 20,
                    retention: retention))
        #expect(
            retention.deadLettersAge == .seconds(30 * 86_400), "dead letters are kept at least as long as other events")
        #expect(file.stages.map(\.name) == ["coalesce", "ingest", "filter", "match", "tally"])
        #expect(file.stages.map(\.kind) == ["coalesce", "ingest", "filter", "match", "match"])
        #expect(file.stages.map(\.from) == ["filter", nil, "match", "ingest", "ingest"])
        #expect(file.stages.map(\.logName) == ["coalesce", "ingest", "filter", "matches", "tallies"])
        #expect(file.stages.map(\.writes) == [nil, nil, nil, .matches, .matches])
    }

    @Test func `logs keep everything by default, and dead letters for 30 days if only bytes are limited`() throws {
        let file = try PipelineFile.parse(
            "pipeline: a\nlog: {retention: {}}\nstages: {s: {}}\n", file: "p.yaml", registry: Registry())
        #expect(file.log == .standard && !file.log.retention.isOn && file.log.snapshotBytes == 64 << 20)
        let byBytes = RetentionSettings(bytes: 1 << 30)
        #expect(byBytes.isOn && byBytes.deadLettersAge == .seconds(30 * 86_400))
    }

    @Test func `links are bound in the data folder, unless the file gives an address`() throws {
        #expect(
            try quickstart().stages.map(\.bind) == [
                "ipc://.belfry/quickstart/coalesce.link", "tcp://127.0.0.1:7411",
                "ipc://.belfry/quickstart/filter.link",
                "ipc://.belfry/quickstart/match.link", "ipc://Pipelines/tally.link",
            ])
    }

    @Test func `a command has its arguments and its folder`() throws {
        let stage = try #require(try quickstart().stage(named: "filter"))
        #expect(stage.command == ["python3", "hot-only.py"])
        #expect(stage.directory == "plugins")
    }

    @Test func `the shortest pipeline file takes all defaults`() throws {
        let file = try PipelineFile.parse(
            "pipeline: a\nstages: {ingest: }\n", file: "a.yaml", folder: "/etc/belfry", registry: Registry())
        #expect(file.data == "/etc/belfry/.belfry/a")
        #expect(file.log == .standard)
        #expect(file.seed == nil)
        #expect(file.sourceStage.bind == "ipc:///etc/belfry/.belfry/a/ingest.link")
        #expect(file.sourceStage.command.isEmpty)
    }

    @Test func `stages come after their upstream`() throws {
        let file = try quickstart()
        #expect(file.sourceStage.name == "ingest")
        #expect(file.stagesInOrder.map(\.name) == ["ingest", "match", "tally", "filter", "coalesce"])
        #expect(file.downstream(of: file.sourceStage).map(\.name) == ["match", "tally"])
        #expect(file.stage(named: "filter").flatMap(file.upstream)?.name == "match")
        #expect(file.upstream(of: file.sourceStage) == nil)
    }

    @Test func `any tree of stages is ordered, whatever the order of its file`() throws {
        var random = Seeded(1)
        for _ in 0..<100 {
            let seed = random.next()
            var choices = Seeded(seed)
            let lines = (0..<20).map {
                $0 == 0 ? "  s0: {}" : "  s\($0): {from: s\(Int.random(in: 0..<$0, using: &choices))}"
            }
            let text = "pipeline: a\nstages:\n" + lines.shuffled(using: &choices).joined(separator: "\n")
            let stages = try PipelineFile.parse(text, file: "p.yaml", registry: Registry()).stagesInOrder
            #expect(stages.count == 20, "seed \(seed)")
            for (index, stage) in stages.enumerated() where stage.from != nil {
                #expect(stages[..<index].contains { $0.name == stage.from }, "seed \(seed)")
            }
        }
    }

    @Test func `mistakes in a plugin's keys are reported together with mistakes in common keys`() throws {
        struct Coalesce: PluginSettings {
            init(from settings: inout SettingsReader) throws(SettingsError) {
                _ = try settings.duration("window", default: .seconds(1), in: .zero ... .seconds(60))
            }
        }
        let text = Self.quickstart.replacing("window: 2s", with: "windw: 2s\n    bnd: x")
        let file = try PipelineFile.parse(text, file: "p.yaml", registry: Registry())
        let stage = try #require(file.stage(named: "coalesce"))
        let error = #expect(throws: PipelineFileError.self) { try stage.settings.decode(Coalesce.self) }
        let known = "known: stage, from, bind, log, command, directory, curve, open, window"
        #expect(
            error?.description == """
                p.yaml:12:5: stages.coalesce.windw: unknown key; did you mean "window"? \(known)
                p.yaml:13:5: stages.coalesce.bnd: unknown key; did you mean "bind"? \(known)
                """)
    }

    @Test func `every stage is checked before the file is refused`() throws {
        let file = try quickstart()
        let error = #expect(throws: PipelineFileError.self) {
            try file.forEachStage { stage throws(PipelineFileError) in
                throw PipelineFileError([stage.settings.fail("x", "no")])
            }
        }
        #expect(error?.errors.map(\.line) == [10, 13, 16, 20, 22])
    }

    @Test(arguments: [
        "bind: 'tcp://127.0.0.2:1'", "bind: 'tcp://lo:1'", "bind: 'tcp://[::1]:1'", "door: 'tcp://127.0.0.1:1'",
        "bind: 'tcp://0.0.0.0:1', open: true", "bind: 'tcp://10.0.0.1:1', door: 'tcp://10.0.0.1:2', open: true",
    ])
    func `a stage with local addresses needs no CURVE keys, nor does a stage with open: true`(entry: String) throws {
        let text = "pipeline: a\nstages:\n  s: {\(entry)}\n"
        let stage = try PipelineFile.parse(text, file: "p.yaml", registry: Registry()).sourceStage
        #expect(stage.isOpen == entry.contains("open"))
    }

    @Test func `the manual's example of CURVE keys is a valid pipeline`() throws {
        let root = #filePath.components(separatedBy: "/Tests/")[0]
        let page = root + "/Sources/BelfryTool/Belfry.docc/Operations/Security.md"
        let text = try String(contentsOfFile: page, encoding: .utf8)
        let example = try #require(text.components(separatedBy: "```yaml\n").dropFirst().first)
        let stages = try #require(example.components(separatedBy: "```").first)
        let file = try PipelineFile.parse("pipeline: keys\nstages:\n" + stages, file: "p.yaml", registry: Registry())
        #expect(file.stagesInOrder.map(\.name) == ["ingest", "match", "coalesce", "payload", "deliver"])
    }

    @Test func `CURVE keys are read, and a secret key only when it is revealed`() throws {
        let key = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
        let next = String(key.suffix(20) + key.prefix(20))
        let text = """
            pipeline: a
            stages:
              s: {curve: {publicKey: ['\(key)', '\(next)'], secretKey: {$env: KEY}, producers: {shop: '\(key)'},
                readers: {screen: ['\(key)', '\(next)']}}}
            """
        let curve = try #require(try PipelineFile.parse(text, file: "p.yaml", registry: Registry()).sourceStage.curve)
        #expect(curve.publicKeys == [key, next])
        #expect(curve.producers == [CurveSettings.Client(name: "shop", keys: [key])])
        #expect(curve.readers == [CurveSettings.Client(name: "screen", keys: [key, next])])
        #expect(try curve.secretKey.reveal(environment: ["KEY": "k"]) == "k")
    }

    @Test func `a damaged pipeline file is read or refused, and never causes a crash`() throws {
        var seeds = Seeded(3)
        let pieces = [
            "*", "&x ", "*x", ": ", "\n", "\t", "? ", "- ", "[", "}", "\"", "'", "!!int ", "|\n", "---\n", "é", "#",
            "%",
        ]
        for _ in 0..<2000 {
            let seed = seeds.next()
            var random = Seeded(seed)
            var scalars = Array(Self.quickstart.unicodeScalars)
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let start = Int.random(in: 0..<scalars.count, using: &random)
                let end = min(scalars.count, start + Int.random(in: 0...3, using: &random))
                let piece = pieces[Int.random(in: 0..<pieces.count, using: &random)]
                scalars.replaceSubrange(start..<end, with: piece.unicodeScalars)
            }
            let text = String(String.UnicodeScalarView(scalars))
            do {
                _ = try PipelineFile.parse(text, file: "p.yaml", registry: Registry())
            } catch {
                #expect(
                    error.errors.allSatisfy { $0.line > 0 && !$0.reason.isEmpty }, "seed \(seed): \(error)\n\(text)")
            }
        }
    }

    // MARK: Loading

    @Test func `a loaded file may begin with a byte order mark, and errors of loading name the file`() throws {
        try withFolder { folder in
            let path = "\(folder)/p.yaml"
            try Data("\u{FEFF}pipeline: a\r\nstages:\r\n  s: {}\r\n".utf8).write(to: URL(filePath: path))
            #expect(try PipelineFile.load(path: path, registry: Registry()).data == "\(folder)/.belfry/a")
            try Data([0x61, 0x3A, 0x20, 0x0A, 0x62, 0xFF, 0x0A]).write(to: URL(filePath: path))
            #expect(message(path) == "\(path):2:2: found a byte that is not UTF-8; save the file as UTF-8")
            try Data(repeating: 0x23, count: 1 << 20 + 1).write(to: URL(filePath: path))
            #expect(message(path) == "\(path): the file is larger than 1 MiB")
            #expect(message("\(folder)/q") == "\(folder)/q: cannot open \(folder)/q: No such file or directory")
            #expect(message(folder) == "\(folder): cannot read \(folder): Is a directory")
        }
    }

    private func message(_ path: String) -> String? {
        #expect(throws: PipelineFileError.self) { try PipelineFile.load(path: path, registry: Registry()) }?.description
    }
}

/// A stage that names the log that it writes.
private struct Matching: Stage {
    static let kind = "match"
    static let writes: LogKind? = .matches
    init(_ settings: NoSettings, context: StageContext) throws(SettingsError) {}
    mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {}
}
