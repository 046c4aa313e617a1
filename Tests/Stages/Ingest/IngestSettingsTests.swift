import Ingest
import PipelineKit
import Testing

struct IngestSettingsTests {
    private func read(_ text: String) throws -> IngestSettings {
        try SettingsReader(text: text, file: "test.yaml").decode(IngestSettings.self)
    }

    @Test func `all settings have defaults`() throws {
        let settings = try read("{}")
        #expect(settings.door == nil)
        #expect(!settings.subscriptionsInAnyDatabase)
        #expect(settings.predicates == .cloudKit)
    }

    @Test func `every setting is read`() throws {
        let settings = try read("door: tcp://127.0.0.1:7400\nsubscriptionsInAnyDatabase: true\npredicates: extended\n")
        #expect(settings.door == "tcp://127.0.0.1:7400")
        #expect(settings.subscriptionsInAnyDatabase)
        #expect(settings.predicates == .extended)
    }

    @Test(arguments: [
        "clock: wall", "dor: tcp://a", "door: nonsense", "door: 'ws://0.0.0.0:1'", "door: 'tcp://127.0.0.1'",
        "subscriptionsInAnyDatabase: 1", "predicates: all",
    ])
    func `an invalid setting is rejected`(text: String) {
        #expect(throws: PipelineFileError.self) { try read(text) }
    }
}
