import EventLog
import Foundation
import Testing
import Time

@testable import BelfryTool
@testable import Inspect

struct LogTextTests {
    /// - Returns: The folder of the log.
    private func writeLog(_ name: String, events: Int, in folder: TemporaryFolder) throws -> String {
        let options = EventLogOptions(
            directory: folder.path + "/logs", name: name, identity: LogIdentity(seed: "test", name: name), sync: .never)
        let writer = try EventLogWriter(options)
        for number in 0..<events {
            let line = Array("{\"n\":\(number)}\n".utf8)
            try line.withUnsafeBytes {
                _ = try writer.append(
                    $0, count: 1, cursor: Cursor(), now: Instant(microseconds: Int64(number) * 1_000_000))
            }
        }
        try writer.close()
        return options.logDirectory
    }

    @Test func `the table of logs is aligned`() throws {
        let folder = try TemporaryFolder()
        _ = try writeLog("changes", events: 12, in: folder)
        _ = try writeLog("pushes", events: 0, in: folder)
        let rows = LogTable.rows(try EventLogs.list(in: folder.path + "/logs"))
        #expect(rows.count == 3)
        #expect(rows[0].hasPrefix("LOG      EVENTS  FIRST"))
        #expect(rows[1].hasPrefix("changes      12  1970-01-01T00:00:00Z  1970-01-01T00:00:11Z"))
        #expect(rows[2].hasPrefix("pushes        0  -"))
        #expect(LogTable.rows([]).isEmpty)
    }

    @Test(arguments: [
        (LogPosition?.none, LogPosition?.none, UInt64?.none, 0..<10), (.sequence(4), nil, nil, 3..<10),
        (.sequence(4), .sequence(6), nil, 3..<6), (nil, .sequence(3), nil, 0..<3), (.sequence(9), nil, 1, 8..<9),
        (.time(Instant(microseconds: 4_500_000)), nil, nil, 5..<10),
        (nil, .time(Instant(microseconds: 2_000_000)), nil, 0..<3), (.back(.seconds(2)), nil, nil, 7..<10),
        (nil, .back(.seconds(7)), nil, 0..<3), (.back(.seconds(99)), nil, 2, 0..<2),
    ])
    func `show prints the events between two positions`(
        from: LogPosition?, until: LogPosition?, limit: UInt64?, expected: Range<Int>
    ) throws {
        let folder = try TemporaryFolder()
        let directory = try writeLog("changes", events: 10, in: folder)
        var output: [UInt8] = []
        let printer = EventPrinter(.events) { output += $0 }
        var show = LogShow(
            printer: printer, from: try from?.point(in: directory), until: try until?.point(in: directory),
            eventsLeft: limit ?? .max, follows: false)
        try show.run(directory)
        #expect(String(decoding: output, as: UTF8.self) == expected.map { "{\"n\":\($0)}\n" }.joined())
    }

    @Test func `the report about a damaged log names file, byte and sequence`() throws {
        let folder = try TemporaryFolder()
        let directory = try writeLog("changes", events: 10, in: folder)
        #expect(
            VerifyText.lines("changes", try EventLogs.verify(directory: directory))[0].hasPrefix(
                "changes: sound, 10 events"))
        try damage(directory)
        let report = try EventLogs.verify(directory: directory)
        let lines = VerifyText.lines("changes", report)
        #expect(lines[0].hasPrefix("changes: damaged, "))
        #expect(lines[1].contains(".log, byte ") && lines[1].contains("from sequence "))
        #expect(VerifyText.json("changes", report).hasPrefix("{\"name\":\"changes\",\"sound\":false,\"events\":"))
    }

    /// Changes one byte in the middle of the log's only segment.
    private func damage(_ directory: String) throws {
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: directory).first { $0.hasSuffix(".log") })
        let url = URL(fileURLWithPath: directory + "/" + name)
        var bytes = try Data(contentsOf: url)
        bytes[bytes.count / 2] ^= 0x20
        try bytes.write(to: url)
    }
}
