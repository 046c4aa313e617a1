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
    }

    @Test func everySettingIsRead() throws {
        let settings = try read("door: tcp://127.0.0.1:7400\nsubscriptionsInAnyDatabase: true\n")
        #expect(settings.door == "tcp://127.0.0.1:7400")
        #expect(settings.subscriptionsInAnyDatabase)
    }

    @Test(arguments: ["clock: wall", "dor: tcp://a", "subscriptionsInAnyDatabase: 1"])
    func aMistakeIsRefused(text: String) {
        #expect(throws: PipelineFileError.self) { try read(text) }
    }
}
