import JSON
import Testing

@testable import PipelineKit

@Suite struct SecretsInClearTests {
    private static let keys: Set<String> = ["url", "headers"]

    private func reader(_ text: String) throws -> SettingsReader {
        try SettingsReader(text: text, file: "p.yaml")
    }

    private func recorded(_ text: String) throws -> String {
        try reader(text).sealed(files: [], secrets: Self.keys).record()
    }

    @Test(arguments: [
        ("url: https://example.com/push", #"{"url":"https://example.com/push"}"#),
        (
            "url: https://example.com/push?key=abc",
            #"{"url":{"$leftOut":"clear","$seal":"\#(seal("https://example.com/push?key=abc"))"}}"#
        ),
        (
            "url: https://a:b@example.com/",
            #"{"url":{"$leftOut":"clear","$seal":"\#(seal("https://a:b@example.com/"))"}}"#
        ),
        ("headers: {x: abc}", #"{"headers":{"x":{"$leftOut":"clear","$seal":"\#(seal("abc"))"}}}"#),
        ("headers: {x: {$env: BELFRY_NONE}}", #"{"headers":{"x":{"$env":"BELFRY_NONE"}}}"#),
        (
            "a: {hook: {headers: {x: abc}, trust: t}}",
            #"{"a":{"hook":{"headers":{"x":{"$leftOut":"clear","$seal":"\#(seal("abc"))"}},"trust":"t"}}}"#
        ),
        ("other: abc", #"{"other":"abc"}"#),
    ])
    func `a secret in clear is replaced by its seal in the recorded settings`(text: String, record: String) throws {
        #expect(try recorded(text) == record)
    }

    private static func seal(_ text: String) -> String { Seal.of(text.utf8) }

    @Test func `a changed secret in clear changes the recorded settings`() throws {
        let (one, other) = (try recorded("headers: {x: abc}"), try recorded("headers: {x: abd}"))
        #expect(one != other && !one.contains("abc"))
        let plain = try reader("headers: {x: abc}").hidingSecrets(under: Self.keys).record()
        #expect(try read(one).record(hasSeals: false) == plain)
        #expect(try read(one).record() == one)
    }

    private struct Header: PluginSettings {
        let value: Secret
        init(from settings: inout SettingsReader) throws(SettingsError) { value = try settings.secretOrText("x") }
    }

    @Test func `recorded settings are read back without the text of a secret in clear`() throws {
        let clear = try reader("x: abc").decode(Header.self).value
        #expect(
            try clear.reveal() == "abc" && clear.textInClear == "abc" && "\(clear)" == "secret in the pipeline file")
        let record = try reader("x: abc").hidingSecrets(under: ["x"]).record()
        let value = try read(record).decode(Header.self).value
        #expect(value.textInClear == nil && !value.isReadable)
        let error = try #require(throws: SettingsError.self) { try value.reveal() }
        #expect(error.reason.contains("contained the secret in clear"))
    }

    @Test func `each secret in clear causes a warning with its line and key`() throws {
        let file = try PipelineFile.parse(
            """
            pipeline: p
            stages:
              ingest: {}
              deliver:
                from: ingest
                transports:
                  one: {url: https://example.com/, headers: {a: {$file: x}, b: plain}}
                  two: {url: "https://example.com/?key=7", headers: {}}
              plugin: {from: ingest, command: [x]}
            """, file: "p.yaml", registry: Registry())
        let found = file.secretsInClear(under: Self.keys)
        #expect(
            found.map(\.keyPath) == ["stages.deliver.transports.one.headers.b", "stages.deliver.transports.two.url"])
        #expect(found.map(\.line) == [7, 8] && found.allSatisfy { $0.hint?.contains("{$file: PATH}") == true })
        #expect(!found.map(\.description).joined().contains("plain") && !found[1].description.contains("key=7"))
    }

    private func read(_ record: String) throws -> SettingsReader {
        var parser = JSONParser()
        let reader = try Array(record.utf8).withUnsafeBytes {
            SettingsReader(record: try parser.parse($0), file: "settings.ndjson", folder: "/", keyPath: "stages.x")
        }
        return try #require(reader)
    }
}
