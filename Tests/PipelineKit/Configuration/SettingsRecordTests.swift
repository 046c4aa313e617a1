import JSON
import Testing

@testable import PipelineKit

@Suite struct SettingsRecordTests {
    private struct SampleSettings: PluginSettings, Equatable {
        let window: Duration
        let isOpen: Bool
        let names: [String]
        let transports: [String: String]

        init(from settings: inout SettingsReader) throws(SettingsError) {
            window = try settings.duration("window", default: .zero, in: .zero ... .seconds(60))
            isOpen = try settings.boolean("open", default: false)
            names = try settings.strings("names")
            var transports: [String: String] = [:]
            for (name, reader) in try settings.mappings("transports") {
                var reader = reader
                transports[name] = try reader.string("use")
            }
            self.transports = transports
        }
    }

    private let text = """
        window: 2s
        open: true
        names: [one, "two \\"2\\"", '~']
        transports: {b: {use: file}, a: {use: console}}
        from: match
        """

    private func reader(of record: String) throws -> SettingsReader? {
        var parser = JSONParser()
        return try Array(record.utf8).withUnsafeBytes {
            SettingsReader(record: try parser.parse($0), file: "settings.ndjson", folder: "/", keyPath: "stages.x")
        }
    }

    @Test func `recorded settings decode to the original settings`() throws {
        let original = try SettingsReader(text: text, file: "s.yaml")
        let recorded = try #require(try reader(of: original.record(without: ["from"])))
        var first = original
        #expect(try recorded.decode(SampleSettings.self) == SampleSettings(from: &first))
        #expect(recorded.record() == original.record(without: ["from"]))
    }

    @Test func `recorded settings do not depend on the order of keys`() throws {
        let lines = text.split(separator: "\n").reversed().joined(separator: "\n")
        #expect(
            try SettingsReader(text: lines, file: "s.yaml").record()
                == SettingsReader(text: text, file: "s.yaml").record())
    }

    @Test func `recorded settings that are not an object are not read`() throws {
        #expect(try reader(of: "[1]") == nil)
    }
}
