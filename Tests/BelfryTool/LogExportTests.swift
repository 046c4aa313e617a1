import EventLog
import Foundation
import TestSupport
import Testing
import Time

@testable import BelfryTool

struct LogExportTests {
    private func writeRandomLog(_ folder: String, _ name: String, _ random: inout Seeded) throws {
        let writer = try EventLogWriter(
            EventLogOptions(directory: folder, name: name, segmentBytesMax: 200 + random.below(5000), sync: .never))
        for step in 0..<random.below(80) {
            let events = (0..<random.below(4)).map { number in
                #"{"first":\#(step),"n":\#(number),"p":"\#(String(repeating: "ä", count: random.below(200)))"}"# + "\n"
            }
            let names = ["changes", "a \"quoted\" \\ name\u{1}", "ö"].filter { _ in random.isOneIn(2) }
            let cursor = Cursor(Dictionary(uniqueKeysWithValues: names.map { ($0, UInt64(random.below(1000))) }))
            let now = Instant(microseconds: writer.lastNow.microseconds + Int64(random.below(1_000_000)))
            try Array(events.joined().utf8).withUnsafeBytes {
                _ = try writer.append($0, count: events.count, cursor: cursor, now: now)
            }
        }
        if random.isOneIn(2) { try writer.trim(before: UInt64(random.below(40))) }
        try writer.close()
        if random.isOneIn(2) {
            let note = UpstreamNote(log: "changes", identity: .random())
            try Data(note.text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)/upstream.json"))
        }
        try addSettingsAndSnapshots(folder, name, writer.identity, &random)
    }

    private func addSettingsAndSnapshots(
        _ folder: String, _ name: String, _ identity: LogIdentity, _ random: inout Seeded
    ) throws {
        let lines = (0..<random.below(3)).map { number in
            #"{"after":\#(number),"now":\#(number * 7 - 1),"kind":"match","settings":{"ä":"\\n  ", "x" : [1e3]}}"#
                + "\n"
        }
        if !lines.isEmpty {
            try Data(lines.joined().utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)/settings.ndjson"))
        }
        let store = SnapshotStore(logDirectory: "\(folder)/\(name)")
        for position in 0..<random.below(3) {
            let header = SnapshotHeader(
                stage: "match", version: 1, log: identity, upstream: identity,
                cursor: Cursor(["changes": UInt64(position)]),
                sequence: 0, now: .epoch)
            let state = (0..<random.below(500_000)).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
            try state.withUnsafeBytes { _ = try store.write(header, state: $0) }
        }
    }

    /// Whether the beginning of the log, or of its upstream log, was removed. Then the export includes snapshots.
    private func isTrimmed(_ folder: String, _ name: String) throws -> Bool {
        let note = try UpstreamNote.read(directory: "\(folder)/\(name)")
        return try [name, note?.log ?? name].contains { name in
            try EventLogs.summary(directory: "\(folder)/\(name)").firstSequence > 1
        }
    }

    private func export(_ folder: String, _ names: [String]) throws -> Data {
        var lines = Data()
        try LogExport.run(directories: names.map { folder + "/" + $0 }) { lines.append(contentsOf: $0) }
        return lines
    }

    @Test(arguments: Seeded.seeds)
    func `an imported log has the exported log's files byte for byte, but snapshots only if needed`(
        seed: UInt64
    ) throws {
        var random = Seeded(seed)
        let folder = try Folder()
        let names = ["changes", "matches", "matches.dead-letters"]
        for name in names { try writeRandomLog(folder.file("old"), name, &random) }
        try export(folder.file("old"), names).write(to: URL(fileURLWithPath: folder.file("all.ndjson")))
        #expect(try LogImportCommand.run(folder.file("all.ndjson"), into: folder.file("new")) == names)
        for name in names {
            let (old, new) = (folder.file("old/\(name)"), folder.file("new/\(name)"))
            for file in try FileManager.default.subpathsOfDirectory(atPath: old)
            where !["lock", "snapshots"].contains(file) {
                if file.hasPrefix("snapshots"), try !isTrimmed(folder.file("old"), name) {
                    #expect(!FileManager.default.fileExists(atPath: new + "/" + file))
                    continue
                }
                // An import need not make a file without content, such as a segment without batches.
                let isEmpty = try Data(contentsOf: URL(fileURLWithPath: old + "/" + file)).isEmpty
                let isSame = FileManager.default.contentsEqual(atPath: old + "/" + file, andPath: new + "/" + file)
                #expect(isEmpty || isSame, "seed \(seed): \(name)/\(file)")
            }
        }
        #expect(try export(folder.file("new"), names) == export(folder.file("old"), names))
    }

    private static let head = #"{"log":"changes","identity":"0d0832cf-b35b-41a9-a717-fa8ea3dfd84a","format":1}"#
    private static let segment = #"{"segment":1,"now":"1970-01-01T00:00:00Z","cursor":{}}"#
    private static func batch(_ first: Int, _ count: Int, second: Int = 1) -> String {
        #"{"first":\#(first),"count":\#(count),"now":"1970-01-01T00:00:0\#(second)Z","cursor":{}}"#
    }

    private static func end(_ events: Int) -> String {
        #"{"end":[{"log":"changes","batches":1,"events":\#(events)}]}"#
    }

    @Test(arguments: [
        (["{}"], 1, "number"), ([head, batch(1, 0)], 2, "a batch comes before the first segment"),
        ([head, segment, "nonsense"], 3, " at byte "),
        ([head, segment, batch(2, 0)], 3, "begins with sequence 2, but sequence 1 is next"),
        ([head, segment, batch(1, 2), "{}", "[]"], 5, "JSON object"),
        (
            [head, segment, batch(1, 1)], 3,
            "the last batch of log changes lacks 1 event: the export was cut off"
        ),
        (
            [head, segment, batch(1, 1), "{}"], 4,
            "the last line of an export, {\"end\":…}, is missing after sequence 1 of log changes"
        ),
        ([head, segment, batch(1, 1), "{}", end(2)], 5, "found 1 event in 1 batch of log changes, but 2 events"),
        ([head, segment, batch(1, 1), "{}", "{\"end\":[]}"], 5, "found 1 log, but 0 were exported"),
        ([head, segment, batch(1, 1), "{}", end(1), segment], 6, "after the end of an export"),
        ([head, segment, batch(1, 0, second: 5), batch(1, 0, second: 4)], 4, "time goes back"),
        ([head.replacing("1}", with: "9}")], 1, "format 9"), ([head, head], 2, "two logs with the name changes"),
        ([head, #"{"settings":{"after":1}}"#], 2, "do not have the form of a line of settings.ndjson"),
        ([head, #"{"snapshot":"../x","part":""}"#], 2, "is not the name of a snapshot"),
    ])
    func `an invalid or missing line is reported and no log is made`(
        lines: [String], number: Int, reason: String
    ) throws {
        let folder = try Folder()
        try folder.write(lines.joined(separator: "\n") + "\n", to: "bad.ndjson")
        let failure = #expect(throws: ToolFailure.self) {
            try LogImportCommand.run(folder.file("bad.ndjson"), into: folder.file("new"))
        }
        #expect(failure?.status == .badData)
        #expect(
            failure?.message.hasPrefix("\(folder.file("bad.ndjson")), line \(number): ") == true,
            "\(failure?.message ?? "")")
        #expect(failure?.message.contains(reason) == true, "\(failure?.message ?? "")")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("new")).isEmpty)
    }

    /// Five imports fail because their file was cut off, each at a different place. Another import was killed.
    @Test func `a failed import does not prevent the next one`() throws {
        let folder = try Folder()
        var random = Seeded(11)
        let names = ["changes", "matches", "pushes"]
        for name in names { try writeRandomLog(folder.file("old"), name, &random) }
        let whole = try export(folder.file("old"), names)
        let second = try #require(whole.range(of: Data(#"{"log":"matches""#.utf8))).lowerBound
        for count in [whole.count - 1, whole.count - 20, second + 100, second - 3, 40] {
            try whole.prefix(count).write(to: URL(fileURLWithPath: folder.file("cut.ndjson")))
            #expect(throws: ToolFailure.self, "\(count) of \(whole.count) bytes") {
                try LogImportCommand.run(folder.file("cut.ndjson"), into: folder.file("new"))
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("new")).isEmpty)
        }
        for left in ["matches/snapshots", "others"] {
            try FileManager.default.createDirectory(
                atPath: folder.file("new/.import/\(left)"), withIntermediateDirectories: true)
            try folder.write("left", to: "new/.import/\(left)/00000000000000000001.log")
        }
        try whole.write(to: URL(fileURLWithPath: folder.file("all.ndjson")))
        #expect(try LogImportCommand.run(folder.file("all.ndjson"), into: folder.file("new")) == names)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("new")).sorted() == names)
        #expect(try export(folder.file("new"), names) == whole)
    }

    /// The last export is whole. Each other export has some complete lines and then an incomplete line.
    @Test func `an export that was cut off is imported only with --partial`() throws {
        let folder = try Folder()
        let event = #"{"type":"x"}"#
        let lines = [Self.head, Self.segment, Self.batch(1, 2), event, event, Self.batch(3, 1), event]
        let whole = lines + [#"{"end":[{"log":"changes","batches":2,"events":3}]}"#]
        for (count, events) in [(2, 0), (3, 0), (4, 0), (5, 2), (6, 2), (7, 3), (8, 3)] as [(Int, UInt64)] {
            let file = folder.file("\(count).ndjson")
            let text = whole.prefix(count).map { $0 + "\n" }.joined() + (count < 8 ? "{\"ty" : "")
            try folder.write(text, to: "\(count).ndjson")
            if count < 8 {
                let failure = #expect(throws: ToolFailure.self) {
                    try LogImportCommand.run(file, into: folder.file("\(count)"))
                }
                #expect(failure?.message.contains("with --partial") == true, "\(failure?.message ?? "")")
            }
            var notices: [String] = []
            let names = try LogImportCommand.run(file, into: folder.file("\(count)"), allowsCutOff: true) {
                notices.append($0)
            }
            #expect(names == ["changes"] && notices.count == (count < 8 ? 1 : 0))
            let report = try EventLogs.verify(directory: folder.file("\(count)/changes"))
            #expect(report.isSound && report.events == events, "\(count): \(report)")
        }
    }

    @Test func `a file with two exports of the same log is refused`() throws {
        let folder = try Folder()
        let lines = [Self.head, Self.segment, Self.batch(1, 1), #"{"type":"x"}"#, Self.end(1)]
        let file = try folder.write((lines + lines).map { $0 + "\n" }.joined(), to: "two.ndjson")
        let failure = #expect(throws: ToolFailure.self) { try LogImportCommand.run(file, into: folder.file("two")) }
        #expect(failure?.message.contains("line 6: this import contains two logs with the name") == true)
    }

    /// If no segment follows the settings, the import knows from their CRC whether they are complete.
    @Test func `an export that was cut off in its settings is imported without them`() throws {
        let folder = try Folder()
        try EventLogWriter(EventLogOptions(directory: folder.file("old"), name: "changes", sync: .never)).close()
        let log = folder.file("old/changes")
        let lines = (0..<3).map { number in
            let text = #"{"after":\#(number),"now":\#(number),"kind":"ingest","settings":{"n":\#(number)}}"#
            return SettingsFile.Line(after: UInt64(number), now: Instant(microseconds: Int64(number)), text: text)
        }
        let identity = try EventLogs.summary(directory: log).identity
        try Data(SettingsFile(lines: lines, of: identity).text.utf8)
            .write(to: URL(fileURLWithPath: log + "/settings.ndjson"))
        let whole = try export(folder.file("old"), ["changes"]).split(separator: UInt8(ascii: "\n"))
        for count in 1...4 {
            for rest in ["", "{\"sett"] {
                let (name, file) = ("cut\(count)\(rest.count)", folder.file("cut.ndjson"))
                let text = whole.prefix(count).map { String(decoding: $0, as: UTF8.self) + "\n" }.joined() + rest
                try folder.write(text, to: "cut.ndjson")
                var notices: [String] = []
                let logs = try LogImportCommand.run(file, into: folder.file(name), allowsCutOff: true) {
                    notices.append($0)
                }
                #expect(logs == ["changes"])
                let report = try EventLogs.verify(directory: folder.file(name + "/changes"))
                #expect(report.isSound && report.events == 0)
                let found = try SettingsFile.read(logDirectory: folder.file(name + "/changes"))
                #expect(found?.lines.count == (count == 4 ? 3 : nil), "\(count)")
                let isReported = notices.contains("log changes: without its incomplete settings")
                #expect(isReported == (2...3).contains(count), "\(count): \(notices)")
            }
        }
    }

    @Test func `an import is refused if a log of the same name exists`() throws {
        let folder = try Folder()
        var random = Seeded(7)
        try writeRandomLog(folder.file("old"), "changes", &random)
        try export(folder.file("old"), ["changes"]).write(to: URL(fileURLWithPath: folder.file("all.ndjson")))
        let failure = #expect(throws: ToolFailure.self) {
            try LogImportCommand.run(folder.file("all.ndjson"), into: folder.file("old"))
        }
        #expect(failure?.message.contains("is a log already") == true)
    }
}
