import EventLog
import Foundation
import PipelineKit
import PipelineRuntime
import Testing
import Time

@testable import BelfryTool

struct DoctorTests {
    /// - Returns: The folder of the log.
    private func writeLog(
        _ name: String, _ lines: [String], segmentBytesMax: Int = 128 << 20, in folder: TemporaryFolder
    ) throws -> String {
        let options = EventLogOptions(
            directory: folder.path + "/logs", name: name, identity: LogIdentity(seed: "test", name: name),
            segmentBytesMax: segmentBytesMax, sync: .never)
        let writer = try EventLogWriter(options)
        for (number, line) in lines.enumerated() {
            try Array((line + "\n").utf8).withUnsafeBytes {
                _ = try writer.append($0, count: 1, now: Instant(microseconds: Int64(number) * 1_000_000))
            }
        }
        try writer.close()
        return options.logDirectory
    }

    private func findings(_ check: some DoctorCheck, _ place: String) async throws -> [Finding] {
        try await check.findings(in: DoctorTarget(place, logs: nil))
    }

    // MARK: Findings

    @Test func `a finding is one object for programs, and lines for people`() {
        let finding = Finding(
            .warning, "log.x", "two\u{7}words", lines: ["more"], fix: "do it", ["log": .text("a"), "count": .count(2)])
        #expect(
            finding.json("logs")
                == #"{"check":"logs","severity":"warning","code":"log.x","text":"two\u0007words","fix":"do it","log":"a","count":2}"#
        )
        var report = DoctorReport(isJSON: false, isColoured: false)
        #expect(
            report.add([finding], of: "logs") == [
                #"warning  logs           two\u{7}words"#, "                        more",
                "                        do: do it",
            ])
        #expect(report.hasProblems && report.verdict == "1 warning")
    }

    @Test func `people see some of many findings, programs see all`() {
        let notes = (0..<25).map { Finding(.note, "a.b", "\($0)") }
        var (people, programs) = (
            DoctorReport(isJSON: false, isColoured: false), DoctorReport(isJSON: true, isColoured: true)
        )
        #expect(
            people.add(notes, of: "x").last?.trimmingCharacters(in: .whitespaces) == "… and 5 more: --json shows all")
        #expect(programs.add(notes, of: "x").count == 25)
        #expect(!people.hasProblems && people.verdict == "all is well; 25 notes")
        #expect(DoctorReport(isJSON: false, isColoured: false).verdict == "all is well")
    }

    @Test func `every check has its own name, which is in the help, and --only refuses an unknown name`() throws {
        let names = PipelineDoctorCommand.checks.map(\.name)
        #expect(names == ["file", "data", "logs", "home", "health", "hosts", "store", "subscriptions", "apps"])
        for name in names { #expect(PipelineDoctorCommand.configuration.discussion.contains("\n  \(name) ")) }
        #expect(throws: (any Error).self) { try PipelineDoctorCommand.parse(["x", "--only", "nothing"]) }
    }

    // MARK: File

    @Test func `every mistake in the file is a finding with line, column and key`() async throws {
        let folder = try TemporaryFolder()
        let good = try folder.file("good.yaml", fiveStages)
        #expect(try await findings(FileCheck(), good).map(\.code) == ["file.valid"])
        let bad = try folder.file(
            "bad.yaml", fiveStages.replacing("ingest: {}", with: "ingest: { bindd: x, door: 7 }"))
        let found = try await findings(FileCheck(), bad)
        #expect(found.count == 2 && found.allSatisfy { $0.severity == .error && $0.code == "file.invalid" })
        #expect(found[0].json("file").contains(#""line":3,"column":13,"key":"stages.ingest.bindd""#))
        #expect(try await findings(FileCheck(), folder.path).isEmpty)
    }

    @Test func `a missing secret file is a warning`() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.file(
            "p.yaml",
            fiveStages.replacing(
                "use: console", with: #"use: webhook, url: "https://example.com/", secret: {$file: none}"#))
        let found = try await findings(FileCheck(), path)
        #expect(found.map(\.code) == ["file.valid", "file.secret"] && found.last?.severity == .warning)
        #expect(found.last?.text.contains("secret: cannot open ") == true)
    }

    // MARK: Data

    @Test
    func `little disk space is a warning, very little is an error, and room for only a few more files is a warning`() {
        #expect(DataCheck.finding("d", 5 << 30, nil).severity == .ok)
        #expect(DataCheck.finding("d", (1 << 30) - 1, 5_000).severity == .warning)
        #expect(DataCheck.finding("d", 10 << 20, 5_000).severity == .error)
        let fewFiles = DataCheck.finding("d", 5 << 30, 999)
        #expect(fewFiles.code == "data.few_files" && fewFiles.severity == .warning)
        #expect(DataCheck.finding("d", (1 << 30) - 1, 999).code == "data.low")
        #expect(DataCheck.finding("d", 1 << 20, 999).code == "data.low")
    }

    @Test func `for a folder that does not exist yet, the nearest existing folder above is checked`() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.file("p.yaml", fiveStages.replacing("stages:", with: "data: a/b\nstages:"))
        let found = try await findings(DataCheck(), file)
        #expect(found.map(\.code) == ["data.writable"])
        #expect(found[0].text.hasPrefix("\(folder.path) (for \(folder.path)/a/b, which does not exist yet)"))
    }

    @Test func `a file in place of the data folder, or of a folder above it, is an error at the setting 'data'`()
        async throws
    {
        let folder = try TemporaryFolder()
        _ = try folder.file("taken", "")
        for data in ["taken", "taken/data"] {
            let file = try folder.file("p.yaml", fiveStages.replacing("stages:", with: "data: \(data)\nstages:"))
            let found = try await findings(DataCheck(), file)
            #expect(found.map(\.code) == ["data.not_writable"] && found[0].severity == .error, "\(found)")
            #expect(found[0].text.hasPrefix("\(file):2:7: data: \(folder.path)/taken is not a folder; remove it"))
        }
    }

    // MARK: Logs

    @Test func `undamaged, torn, damaged and missing logs have different findings`() async throws {
        let folder = try TemporaryFolder()
        let none = try await findings(LogsCheck(), folder.path)
        #expect(none.map(\.code) == ["log.none"] && none[0].severity == .note)
        let changes = try writeLog("changes", ["{\"n\":1}", "{\"n\":2}"], in: folder)
        let whole = try await findings(LogsCheck(), folder.path)
        #expect(whole.map(\.code) == ["log.whole"])
        #expect(whole[0].json("logs").contains(#""logs":1,"events":2,"#))

        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: changes).first { $0.hasSuffix(".log") })
        let segment = changes + "/" + name
        let bytes = try Data(contentsOf: URL(fileURLWithPath: segment))
        try bytes.dropLast(3).write(to: URL(fileURLWithPath: segment))
        #expect(try await findings(LogsCheck(), folder.path).map(\.code) == ["log.torn_tail", "log.whole"])

        var damaged = bytes
        damaged[70] ^= 0xFF
        try damaged.write(to: URL(fileURLWithPath: segment))
        let found = try await findings(LogsCheck(), folder.path)
        #expect(found.map(\.code) == ["log.damaged"] && found[0].severity == .error, "\(found)")
        #expect(found[0].fix?.contains("belfry log repair \(changes)") == true)
        try bytes.write(to: URL(fileURLWithPath: segment))

        _ = try writeLog("matches.dead-letters", [], in: folder)
        let missing = try await findings(LogsCheck(), folder.path)
        #expect(missing.map(\.code) == ["log.missing"])
    }

    @Test func `a changed event in the last segment is damage, and so is a missing segment`() async throws {
        let folder = try TemporaryFolder()
        let log = try writeLog("changes", (0..<9).map { "{\"n\":\($0)}" }, segmentBytesMax: 400, in: folder)
        let segments = try FileManager.default.contentsOfDirectory(atPath: log).filter { $0.hasSuffix(".log") }.sorted()
            .map { URL(fileURLWithPath: log + "/" + $0) }
        try #require(segments.count > 2)
        let last = try #require(segments.last)
        let whole = try Data(contentsOf: last)
        var changed = whole
        changed[try #require(whole.lastIndex(of: UInt8(ascii: "{")))] ^= 1
        try changed.write(to: last)
        let damaged = try await findings(LogsCheck(), folder.path)
        #expect(damaged.map(\.code) == ["log.damaged"], "\(damaged)")
        #expect(damaged[0].text.contains("the CRC does not match the events"), "\(damaged)")
        try whole.write(to: last)
        try FileManager.default.removeItem(at: segments[1])
        let missing = try await findings(LogsCheck(), folder.path)
        #expect(missing.map(\.code) == ["log.damaged"] && missing[0].text.contains(" are missing"), "\(missing)")
        #expect(missing[0].fix?.contains("belfry log verify \(log)") == true)
    }

    @Test func `the codes of the newest thousand dead letters are counted`() async throws {
        let folder = try TemporaryFolder()
        let letters = (0..<1_200).map { number in
            let code = number < 300 ? "old" : number % 3 == 0 ? "field.missing" : "predicate.syntax"
            return #"{"type":"dead_letter","stage":"match","code":"\#(code)"}"#
        }
        _ = try writeLog("matches", [], in: folder)
        _ = try writeLog("matches.dead-letters", letters, in: folder)
        let found = try await findings(LogsCheck(), folder.path)
        #expect(found.map(\.code) == ["log.dead_letters"] && found[0].severity == .warning)
        let json = found[0].json("logs")
        #expect(
            json.contains(#""deadLetters":1200,"codes":{"predicate.syntax":600,"field.missing":300,"old":100}"#),
            "\(json)")
    }

    // MARK: Health

    @Test func `a stage in a phase other than running has a finding for this phase`() throws {
        func code(_ phase: HostReport.Phase) throws -> String? {
            let answer =
                #"{"type":"health","stage":"s","phase":"\#(phase.rawValue)","log":"l","first":1,"last":2,"pid":3}"#
            return HealthCheck.finding("s", try #require(StageHealth(answer)))?.code
        }
        #expect(try code(.running) == nil)
        #expect(try code(.diskFull) == "health.disk_full")
        #expect(try code(.rebuilding) == "health.starting")
        #expect(try code(.waitingForUpstream) == "health.not_ready")
        #expect(try code(.waitingForProgram) == "health.program")
    }
}
