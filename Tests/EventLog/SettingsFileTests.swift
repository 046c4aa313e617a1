import Foundation
import Testing
import Time

@testable import EventLog

/// The first line of `settings.ndjson` has a CRC of the whole file, except in files of earlier builds. While
/// this CRC is there, every change of the file is detected.
@Suite struct SettingsFileTests {
    private func line(_ after: UInt64, window: String = "1s") -> SettingsFile.Line {
        let text = #"{"after":\#(after),"now":\#(after),"kind":"coalesce","settings":{"window":"\#(window)"}}"#
        return SettingsFile.Line(after: after, now: Instant(microseconds: Int64(after)), text: text)
    }

    private func scratch() throws -> Scratch {
        let scratch = Scratch()
        try FileManager.default.createDirectory(atPath: scratch.path, withIntermediateDirectories: false)
        return scratch
    }

    private func read(_ scratch: Scratch, _ text: String) throws -> SettingsFile? {
        try write(Array(text.utf8), to: scratch.path + "/settings.ndjson")
        return try SettingsFile.read(logDirectory: scratch.path)
    }

    @Test func `written settings are read and written back unchanged`() throws {
        let scratch = try scratch()
        for count in 1...3 {
            let file = SettingsFile(lines: (0..<UInt64(count)).map { line($0) })
            let found = try #require(try read(scratch, file.text))
            #expect(found.lines.map(\.text) == file.lines.map(\.text) && found.hasCRC && found.text == file.text)
        }
    }

    @Test func `reading a settings file with a changed byte, or a lost line after the first, fails`() throws {
        let scratch = try scratch()
        let text = SettingsFile(lines: [line(0), line(7, window: "5s"), line(9)]).text
        let bytes = Array(text.utf8)
        for place in bytes.indices {
            var changed = bytes
            changed[place] ^= 1
            try write(changed, to: scratch.path + "/settings.ndjson")
            #expect(throws: EventLogError.self, "byte \(place)") {
                try SettingsFile.read(logDirectory: scratch.path)
            }
        }
        let lines = text.split(separator: "\n").map { $0 + "\n" }
        for wrong in [lines.dropLast(), lines.dropLast(2), [lines[0], lines[2]], [lines[0], lines[2], lines[1]]] {
            #expect(throws: EventLogError.self) { try read(scratch, wrong.joined()) }
        }
        #expect(throws: EventLogError.self, "the text, twice, was accepted") { try read(scratch, text + text) }
    }

    @Test func `a settings file of an earlier build is accepted without a CRC`() throws {
        let scratch = try scratch()
        let text = line(0).text + "\n" + line(7).text + "\n"
        let file = try #require(try read(scratch, text))
        #expect(!file.hasCRC && file.text == text)
    }

    @Test func `settings of another log are refused, and the error names both logs`() throws {
        let (scratch, other) = (try scratch(), LogIdentity(seed: "test", name: "other"))
        let own = LogIdentity(seed: "test", name: "own")
        try LogManifest(name: "own", identity: own).write(in: LogDirectory(path: scratch.path))
        let settings = SettingsFile(lines: [line(0), line(7)], of: own)
        #expect(try read(scratch, settings.text)?.text == settings.text)
        let swapped = #expect(throws: EventLogError.self) {
            try read(scratch, SettingsFile(lines: [line(0)], of: other).text)
        }
        #expect(swapped?.description.contains("settings of log \(other), but this is log \(own)") == true)
        #expect(try read(scratch, SettingsFile(lines: [line(0)]).text)?.log == nil, "a log was named")
    }

    @Test func `a settings file that names its log is refused if any bit has changed`() throws {
        let scratch = try scratch()
        let bytes = Array(SettingsFile(lines: [line(0), line(7)], of: LogIdentity(seed: "a", name: "b")).text.utf8)
        for place in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[place] ^= 1 << bit
                try write(changed, to: scratch.path + "/settings.ndjson")
                #expect(throws: EventLogError.self, "byte \(place), bit \(bit)") {
                    try SettingsFile.read(logDirectory: scratch.path)
                }
            }
        }
    }
}
