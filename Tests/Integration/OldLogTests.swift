import EventLog
import Foundation
import TestSupport
import Testing

@testable import BelfryTool

/// Logs that earlier versions of Belfry wrote, with a folder for each format. Do not change these logs.
enum OldLogs {
    static let folder = #filePath.prefix(upTo: #filePath.lastIndex(of: "/") ?? #filePath.startIndex) + "/Logs"

    /// The paths of all logs of a format, such as `v1`.
    static func logs(of version: String) throws -> [String] {
        let start = folder + "/" + version
        return try FileManager.default.subpathsOfDirectory(atPath: start).filter { $0.hasSuffix("/log.json") }.sorted()
            .map { start + "/" + $0.dropLast("/log.json".count) }
    }
}

@Suite struct OldLogTests {
    @Test func `each log of format 1 is readable, sound and needs no migration`() throws {
        let logs = try OldLogs.logs(of: "v1")
        #expect(logs.count == 10)
        for log in logs {
            let report = try EventLogs.verify(directory: log)
            #expect(report.isSound && report.events > 0, "\(log): \(report.problems)")
            #expect(try EventLogs.format(directory: log) == 1)
            let name = log.split(separator: "/").last ?? ""
            #expect(try LogMigration(of: log).text == "\(name): format 1, nothing to migrate")
        }
    }

    @Test func `each event in logs of format 1 agrees with the current declaration of its type`() throws {
        for run in ["tour", "live/logs"] {
            #expect(try DeclaredEvents.problems(inLogsUnder: "\(OldLogs.folder)/v1/\(run)") == [])
        }
    }

    @Test func `export and import keep each log of format 1 byte for byte`() throws {
        for log in try OldLogs.logs(of: "v1") {
            let folder = try Folder()
            var lines = Data()
            try LogExport.run(directories: [log]) { lines.append(contentsOf: $0) }
            try lines.write(to: URL(fileURLWithPath: folder.file("export")))
            let name = try #require(try LogImportCommand.run(folder.file("export"), into: folder.file("logs")).first)
            let made = folder.file("logs") + "/" + name
            for file in try FileManager.default.contentsOfDirectory(atPath: log) {
                #expect(
                    FileManager.default.contentsEqual(atPath: log + "/" + file, andPath: made + "/" + file), "\(file)")
            }
        }
    }

    @Test func `belfry log migrate rejects a log of a later format, and names the format`() throws {
        let folder = try Folder()
        let source = try #require(try OldLogs.logs(of: "v1").first)
        try FileManager.default.copyItem(atPath: source, toPath: folder.file("changes"))
        let manifest = try folder.lines(of: "changes/log.json")[0]
        try folder.write(manifest.replacing("\"format\":1", with: "\"format\":7") + "\n", to: "changes/log.json")
        let failure = #expect(throws: ToolFailure.self) {
            try LogMigration(of: folder.file("changes"))
        }
        #expect(failure?.status == .badData && failure?.message.contains("format 7") == true)
    }
}
