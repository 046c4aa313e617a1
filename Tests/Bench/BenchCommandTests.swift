import Foundation
import JSON
import TestSupport
import Testing

@testable import Bench

@Suite struct BenchCommandTests {
    @Test func `bench pipeline makes one push for each watched change`() throws {
        let (status, output) = try bench([
            "pipeline", "--changes", "2000", "--subscriptions", "50", "--seed", "9", "--json",
        ])
        #expect(status == 0)
        var workload = Workload(seed: 9, subscriptions: 50)
        _ = workload.lines(2_000)
        try ParsedJSON.check(output) { report in
            #expect(report["changes"]?.int64 == 2_000)
            #expect(report["pushes"]?.int64 == Int64(workload.watched))
            #expect(report["expectedPushes"]?.int64 == Int64(workload.watched))
            #expect(report["isRight"]?.bool == true)
            #expect(report["latencyMilliseconds"]?["p99"]?.double ?? 0 > 0)
            let stages = report["stages"].map { $0.elements.map { $0["stage"]?.string } } ?? []
            #expect(stages == ["ingest", "match", "coalesce", "payload", "deliver"])
            for stage in report["stages"].map({ Array($0.elements) }) ?? [] {
                #expect(stage["peakBytes"]?.int64 ?? 0 > 1 << 20)
            }
        }
    }

    @Test func `bench pipeline sends changes no faster than at the given rate`() throws {
        let (status, output) = try bench([
            "pipeline", "--changes", "600", "--rate", "2000", "--subscriptions", "20", "--json",
        ])
        #expect(status == 0)
        try ParsedJSON.check(output) { #expect($0["seconds"]?.double ?? 0 > 0.29) }
    }

    @Test func `bench log appends in each batch size under each sync policy`() throws {
        let (status, output) = try bench(["log", "--events", "512"])
        #expect(status == 0)
        try ParsedJSON.check(output) { report in
            #expect(report["bench"]?.string == "log")
            let rows = report["append"].map { Array($0.elements) } ?? []
            #expect(rows.count == 9)
            #expect(Set(rows.map { "\($0["sync"]?.string ?? "") \($0["batch"]?.int64 ?? 0)" }).count == 9)
        }
    }

    @Test func `bench payload builds the same payloads as Foundation, for changes of 390 bytes`() throws {
        let (status, output) = try bench(["payload", "--count", "100", "--seconds", "0.01", "--json"])
        #expect(status == 0)
        try ParsedJSON.check(output) { report in
            #expect(report["changeBytes"]?.int64 == 390)
            #expect(report["desiredKeys"]?.int64 == 3 && report["localizationArguments"]?.int64 == 2)
            for key in ["payloadsPerSecond", "readingPerSecond", "foundationPerSecond", "ratioToFoundation"] {
                #expect(report.member(key)?.double ?? 0 > 0, "\(key)")
            }
            #expect(report["pushBytes"]?.double ?? 0 > report["payloadBytes"]?.double ?? 0)
        }
    }

    @Test func `bench api gets an answer to every request and an event for every operation`() throws {
        let (status, output) = try bench([
            "api", "--requests", "1000", "--records", "1200", "--connections", "8", "--json",
        ])
        #expect(status == 0)
        try ParsedJSON.check(output) { report in
            let rows = report["rows"].map { Array($0.elements) } ?? []
            #expect(
                rows.map { $0["request"]?.string } == [
                    "constant", "lookup", "query", "modify 1", "modify 10", "modify 200",
                ])
            for row in rows {
                for key in ["requestsPerSecond", "operationsPerSecond", "ratioToConstant"] {
                    #expect(row.member(key)?.double ?? 0 > 0, "\(key)")
                }
                #expect(row["latencyMilliseconds"]?["p99"]?.double ?? 0 > 0)
            }
        }
    }

    @Test(.disabled(if: Sanitizer.isThread || Sanitizer.isAddress, "the sanitizer keeps freed memory"))
    func `bench memory counts the bytes of devices, badges and held notifications`() throws {
        let (status, output) = try bench(["memory", "--count", "20000", "--json"])
        #expect(status == 0)
        try ParsedJSON.check(output) { report in
            let rows = report["rows"].map { Array($0.elements) } ?? []
            #expect(rows.count == 3)
            for row in rows {
                let (bytes, text) = (row["bytes"]?.double ?? 0, row["textBytes"]?.double ?? 0)
                #expect(bytes > text / 2 && bytes < text + 4_000, "\(bytes), \(text)")
            }
        }
    }

    @Test func `a bench removes its folder, and an invalid option gives exit status 64`() throws {
        let parent = FileManager.default.temporaryDirectory.appending(path: "bench-test-\(UUID())")
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: parent) }
        _ = try bench(["pipeline", "--changes", "10", "--subscriptions", "10", "--in", parent.path])
        #expect(try FileManager.default.contentsOfDirectory(atPath: parent.path) == [])
        #expect(try bench(["pipeline", "--changes", "0"]).status == 64)
    }

    @Test(arguments: [["bench", "log", "--help"], ["help", "bench", "log"]])
    func `the usage of a bench begins with "belfry bench", not with "belfry-bench"`(_ arguments: [String]) throws {
        let (status, output) = try belfry(arguments)
        #expect(status == 0)
        #expect(String(decoding: output, as: UTF8.self).contains("USAGE: belfry bench log "))
    }

    private func bench(_ arguments: [String]) throws -> (status: Int32, output: [UInt8]) {
        try belfry(["bench"] + arguments)
    }

    private func belfry(_ arguments: [String]) throws -> (status: Int32, output: [UInt8]) {
        Cost.spend(.processes, arguments.contains("pipeline") ? 6 : 1)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try SiblingProgram("belfry").path)
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, bytes.filter { $0 != UInt8(ascii: "\n") })
    }
}
