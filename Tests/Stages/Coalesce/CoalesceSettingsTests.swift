import PipelineKit
import Testing

@testable import Coalesce

@Suite struct `Coalesce settings` {
    @Test func `hold for one second, ten at most, unless told otherwise`() throws {
        #expect(try read("") == CoalesceSettings(window: .seconds(1), maximumDelay: .seconds(10)))
    }

    @Test func `wait ten windows at most unless told otherwise`() throws {
        #expect(
            try read("window: 250ms") == CoalesceSettings(window: .milliseconds(250), maximumDelay: .milliseconds(2500))
        )
        #expect(try read("window: 0s").window == .zero)
    }

    @Test func `refuse a maximum delay shorter than the window`() throws {
        #expect(throws: PipelineFileError.self) { try read("{window: 2s, maximumDelay: 1s}") }
        #expect(try read("{window: 2s, maximumDelay: 2s}").maximumDelay == .seconds(2))
    }

    private func read(_ yaml: String) throws -> CoalesceSettings {
        try SettingsReader(text: yaml.isEmpty ? "{}" : yaml, file: "pipeline.yaml").decode(CoalesceSettings.self)
    }
}
