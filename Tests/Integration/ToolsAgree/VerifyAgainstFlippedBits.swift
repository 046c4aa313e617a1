import BuiltIns
import EventLog
import Foundation
import PipelineKit
import TestSupport
import Testing

@testable import BelfryTool
@testable import Inspect
@testable import PipelineRuntime

@Suite struct FlippedBits {
    /// Runs the commands of the quickstart's scenario `tour` and a registration with an invalid token, which becomes a
    /// dead letter.
    ///
    /// - Returns: The folders of the logs.
    private static func logs(in folder: Folder) async throws -> [String] {
        let tour = try #require(try Scenarios.all().first { $0.testDescription == "quickstart: tour" })
        let place = #""container":"iCloud.com.example.Notes","environment":"development""#
        let address = #""transport":"apns","token":"none","topic":"com.example.Notes""#
        let device = #"{"type":"device.register",\#(place),"user":"_u","device":"d",\#(address)}"# + "\n"
        let commands = try String(contentsOf: tour.input, encoding: .utf8)
        let input = try folder.write(commands + device, to: "in.ndjson")
        _ = try await PipelineRun(
            try PipelineFile.load(path: tour.pipelineFile, registry: .builtIns), data: folder.path,
            sources: [InputSource(path: input)],
            writer: PushWriter { _ in }
        ).run()
        return try LogPlace.logs(in: folder.file("logs"))
    }

    @Test func `verification reports a flipped bit in any file of a log except its lock`() async throws {
        let folder = try Folder()
        var random = Seeded(Seeded.ofThisRun)
        var files: Set<String> = []
        let logs = try await Self.logs(in: folder)
        for log in logs {
            try LogIndex(directory: log, scheme: .trace).update()
            try VerifyAgainstFlippedBits.addRareFiles(to: log)
            files.formUnion(try VerifyAgainstFlippedBits(log).check(flips: Tier.value(25, full: 100), &random))
        }
        #expect(logs.contains { $0.hasSuffix(".dead-letters") })
        let names = Set(files.map { String($0.prefix { $0 != "/" }) })
        #expect(
            names.isSuperset(of: [
                "00000000000000000001.log", "consumers.json", "crash-journal", "index", "log.json", "settings.ndjson",
                "snapshots",
                "under-way.0", "under-way.1", "upstream.json",
            ]))
    }
}

/// Checks that `belfry log verify` names the file in which a bit is wrong, for each file in the folder of a log.
struct VerifyAgainstFlippedBits {
    /// Files that are not verified. The process ID in a lock file only tells which process has the log open.
    private static let unverified = ["lock"]

    private let folder: String

    /// - Parameter folder: The folder of one log.
    init(_ folder: String) { self.folder = folder }

    /// Adds the files that only some stages write: journals and the positions of consumers.
    static func addRareFiles(to folder: String) throws {
        let log = try EventLogs.summary(directory: folder)
        try InFlightJournalFiles(logDirectory: folder, of: log.identity, calls: FileCalls())
            .write(InFlightJournalRecord(boot: 7, after: log.lastSequence))
        _ = CrashJournal(logDirectory: folder, of: log.identity, boot: 7)
        var positions = try ConsumerPositions(logDirectory: folder)
        _ = positions.update(with: ["next": 7, "dashboard": 3])
        try positions.save()
    }

    /// - Returns: The names of the files in which bits were flipped.
    func check(flips: Int, _ random: inout Seeded) throws -> Set<String> {
        #expect(try problems().isEmpty, "\(folder)")
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder).sorted()
        let files = names.filter { LogPlace.isFile("\(folder)/\($0)") && !Self.unverified.contains($0) }
        for name in files { try check(name, flips, &random) }
        return Set(files)
    }

    private func check(_ name: String, _ flips: Int, _ random: inout Seeded) throws {
        let url = URL(fileURLWithPath: "\(folder)/\(name)")
        let whole = try Data(contentsOf: url)
        for _ in 0..<flips where !whole.isEmpty {
            let (byte, bit) = (random.below(whole.count), random.below(8))
            var damaged = whole
            damaged[byte] ^= 1 << bit
            try damaged.write(to: url)
            let found = try problems()
            #expect(
                found.contains { $0.hasSuffix("/\(name)") }, "\(folder)/\(name), byte \(byte), bit \(bit): \(found)")
        }
        try whole.write(to: url)
    }

    /// The files in which verification finds a problem.
    private func problems() throws -> [String] {
        let report: VerifyReport
        do { report = try EventLogs.verify(directory: folder, checks: LogChecks.all) } catch {
            // Without a valid `log.json` the log cannot be read.
            return [folder + "/log.json"].filter("\(error)".contains)
        }
        return (report.problems + report.notes + [report.tornTail].compactMap { $0 }).map(\.file)
    }
}
