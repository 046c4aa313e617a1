import PipelineKit
import TestSupport
import Testing
import Time

@testable import PipelineRuntime

@Suite struct SettingsHistoryTests {
    private func entry(_ after: UInt64, _ window: String) -> SettingsHistory.Entry {
        SettingsHistory.Entry(
            after: after, now: Instant(microseconds: Int64(after) * 10), kind: "coalesce",
            settings: "{\"window\":\"\(window)\"}")
    }

    @Test func `entries are still in the history after it is opened again`() throws {
        let folder = try Folder()
        var history = try SettingsHistory(logDirectory: folder.path)
        #expect(history.entries.isEmpty)
        try history.append(entry(0, "1s"))
        try history.append(entry(7, "5s"))
        #expect(try SettingsHistory(logDirectory: folder.path).entries == [entry(0, "1s"), entry(7, "5s")])
    }

    @Test func `unchanged settings are not recorded again`() throws {
        let folder = try Folder()
        var history = try SettingsHistory(logDirectory: folder.path)
        try history.append(entry(0, "1s"))
        try history.append(entry(9, "1s"))
        #expect(try SettingsHistory(logDirectory: folder.path).entries == [entry(0, "1s")])
    }

    @Test func `the error for a damaged settings history names its file`() throws {
        let folder = try Folder()
        try folder.write("{\"after\":0}\n", to: "settings.ndjson")
        #expect {
            _ = try SettingsHistory(logDirectory: folder.path)
        } throws: {
            "\($0)".contains(folder.path + "/settings.ndjson")
        }
    }
}
