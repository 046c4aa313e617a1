import EventLog
import Foundation
import TestSupport
import Testing

@testable import BelfryTool

struct LogExportTests {
    private func randomLog(_ folder: String, _ name: String, _ random: inout Seeded) throws {
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
    }

    private func export(_ folder: String, _ names: [String]) throws -> Data {
        var lines = Data()
        for name in names { try LogExport.run(directory: folder + "/" + name) { lines.append(contentsOf: $0) } }
        return lines
    }

    @Test(arguments: Seeded.seeds)
    func `what is exported and imported is the same, byte for byte`(seed: UInt64) throws {
        var random = Seeded(seed)
        let folder = try Folder()
        let names = ["changes", "matches", "matches.dead-letters"]
        for name in names { try randomLog(folder.file("old"), name, &random) }
        try export(folder.file("old"), names).write(to: URL(fileURLWithPath: folder.file("all.ndjson")))
        #expect(try LogImportCommand.run(folder.file("all.ndjson"), into: folder.file("new")) == names)
        for name in names {
            let (old, new) = (folder.file("old/\(name)"), folder.file("new/\(name)"))
            for file in try FileManager.default.contentsOfDirectory(atPath: old) where file != "lock" {
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

    @Test(arguments: [
        (["{}"], 1, "number"), ([head, batch(1, 0)], 2, "segment must begin"),
        ([head, segment, "nonsense"], 3, "offset"), ([head, segment, batch(2, 0)], 3, "begin with 1"),
        ([head, segment, batch(1, 2), "{}", "[]"], 5, "JSON object"),
        ([head, segment, batch(1, 1)], 3, "missing"),
        ([head, segment, batch(1, 0, second: 5), batch(1, 0, second: 4)], 4, "time goes back"),
        ([head.replacing("1}", with: "9}")], 1, "format 9"), ([head, head], 2, "already"),
    ])
    func `a wrong line is named and no log comes of it`(lines: [String], number: Int, reason: String) throws {
        let folder = try Folder()
        try folder.write(lines.joined(separator: "\n") + "\n", to: "bad.ndjson")
        let failure = #expect(throws: ToolFailure.self) {
            try LogImportCommand.run(folder.file("bad.ndjson"), into: folder.file("new"))
        }
        #expect(failure?.status == .badData)
        #expect(
            failure?.message.hasPrefix("\(folder.file("bad.ndjson")), line \(number): ") == true,
            "\(failure?.message ?? "")")
        #expect(failure?.message.contains(reason) == true || reason == "offset", "\(failure?.message ?? "")")
    }

    @Test func `a log that exists is not touched`() throws {
        let folder = try Folder()
        var random = Seeded(7)
        try randomLog(folder.file("old"), "changes", &random)
        try export(folder.file("old"), ["changes"]).write(to: URL(fileURLWithPath: folder.file("all.ndjson")))
        let failure = #expect(throws: ToolFailure.self) {
            try LogImportCommand.run(folder.file("all.ndjson"), into: folder.file("old"))
        }
        #expect(failure?.message.contains("is a log already") == true)
    }
}
