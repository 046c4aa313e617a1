import Ingest
import PipelineKit
import Testing

struct IngestSettingsTests {
    private func read(_ text: String) throws -> IngestSettings {
        try SettingsReader(text: text, file: "test.yaml").decode(IngestSettings.self)
    }

    @Test func nothingNeedBeSet() throws {
        let settings = try read("{}")
        #expect(settings.door == nil)
        #expect(!settings.subscriptionsInAnyDatabase)
        #expect(settings.predicates == .cloudKit)
    }

    @Test func everySettingIsRead() throws {
        let settings = try read("door: tcp://127.0.0.1:7400\nsubscriptionsInAnyDatabase: true\npredicates: extended\n")
        #expect(settings.door == "tcp://127.0.0.1:7400")
        #expect(settings.subscriptionsInAnyDatabase)
        #expect(settings.predicates == .extended)
    }

    @Test(arguments: [
        "clock: wall", "dor: tcp://a", "door: nonsense", "door: 'ws://0.0.0.0:1'", "door: 'tcp://127.0.0.1'",
        "subscriptionsInAnyDatabase: 1", "predicates: all",
    ])
    func aMistakeIsRefused(text: String) {
        #expect(throws: PipelineFileError.self) { try read(text) }
    }
}
