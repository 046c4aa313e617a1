import Foundation
import JSON
import TestSupport
import Testing

@testable import PipelineKit

/// Settings that name a file or a secret count as changed when the contents of the file or secret have changed.
@Suite struct SettingsSealTests {
    private struct Transport: PluginSettings {
        let key: Secret
        let others: [Secret]
        let trust: String?
        let reader: SettingsReader?

        init(from settings: inout SettingsReader) throws(SettingsError) {
            key = try settings.secret("key")
            others = try settings.secrets("others", countMax: 4)
            trust = try settings.optionalPath("trust")
            reader = try settings.mapping("inner")
        }
    }

    private let folder: Folder

    init() throws {
        folder = try Folder()
        for name in ["key", "other", "trust", "inner"] { try write("one \(name)", to: name) }
    }

    private func write(_ text: String, to name: String, mode: mode_t = 0o600) throws {
        chmod(try folder.write(text, to: name), mode)
    }

    private func sealed(_ text: String? = nil) throws -> SettingsReader {
        let text = text ?? "key: {$file: key}\nothers: [{$file: other}]\ntrust: trust\ninner: {a: {$file: inner}}"
        return try SettingsReader(text: text, file: folder.path + "/p.yaml").sealed(files: ["trust"])
    }

    private func read(_ record: String) throws -> SettingsReader {
        var parser = JSONParser()
        let reader = try Array(record.utf8).withUnsafeBytes {
            SettingsReader(record: try parser.parse($0), file: "settings.ndjson", folder: "/", keyPath: "stages.x")
        }
        return try #require(reader)
    }

    @Test(arguments: ["key", "other", "trust", "inner"])
    func `a changed file or secret changes the recorded settings`(name: String) throws {
        let before = try sealed()
        try write("another \(name)", to: name)
        let after = try sealed()
        #expect(before.record() != after.record())
        #expect(before.record(hasSeals: false) == after.record(hasSeals: false))
        try write("one \(name)", to: name)
        #expect(try sealed().record() == before.record())
    }

    @Test func `recorded settings with seals decode to the original settings, and are recorded again unchanged`() throws
    {
        let record = try sealed().record()
        let again = try read(record)
        #expect(again.record() == record)
        let settings = try again.decode(Transport.self)
        #expect(settings.key.file == "/key" && settings.others.map(\.file) == ["/other"] && settings.trust == "/trust")
        #expect(settings.reader?.record() == #"{"a":{"$file":"inner","$seal":"\#(Seal.of("one inner".utf8))"}}"#)
    }

    @Test func `a seal has four hex digits, and different contents nearly always have different seals`() throws {
        let record = try sealed("key: {$file: key}").record()
        let seal = record.dropFirst(#"{"key":{"$file":"key","$seal":""#.count).dropLast(3)
        #expect(seal.count == 4 && seal.allSatisfy(\.isHexDigit), "\(record)")
        #expect(Set((0..<1_000).map { Seal.of("\($0)".utf8) }).count > 980)
        #expect((0..<1_000).allSatisfy { Seal.of("\($0)".utf8).count == 4 })
    }

    @Test func `a secret or file that Belfry cannot or must not read has no seal`() throws {
        let text = "key: {$file: lost}\nothers: [{$env: BELFRY_NOT_SET}]\ntrust: lost"
        let reader = try sealed(text)
        #expect(reader.record() == reader.record(hasSeals: false))
        try write("open", to: "lost", mode: 0o644)
        #expect(try sealed("key: {$file: lost}").record() == #"{"key":{"$file":"lost"}}"#)
    }

    /// A pipe can be read only once, and the transport must read it.
    @Test func `a file that is a named pipe is not read and gets no seal`() throws {
        for name in ["key", "trust"] {
            try FileManager.default.removeItem(atPath: folder.file(name))
            try #require(mkfifo(folder.file(name), 0o600) == 0)
        }
        #expect(try sealed("key: {$file: key}\ntrust: trust").record() == #"{"key":{"$file":"key"},"trust":"trust"}"#)
    }

    @Test func `a pipeline file cannot contain a seal`() {
        #expect(throws: PipelineFileError.self) { try sealed("key: {$file: key, $seal: 12ab}").decode(Transport.self) }
    }

    @Test func `a seal is copied to other settings only where they name the same file`() throws {
        let past = try read(sealed().record())
        try write("another key", to: "key")
        let text = "key: {$file: key}\ntrust: other\ninner: {a: {$file: inner}, b: 1}"
        let other = try SettingsReader(text: text, file: folder.path + "/p.yaml").sealed(like: past)
        let (key, inner) = (Seal.of("one key".utf8), Seal.of("one inner".utf8))
        #expect(
            other.record()
                == #"{"inner":{"a":{"$file":"inner","$seal":"\#(inner)"},"b":"1"},"#
                + #""key":{"$file":"key","$seal":"\#(key)"},"trust":"other"}"#)
    }
}
