import BuiltIns
import Foundation
import PipelineKit
import Testing

@testable import PipelineTestKit
@testable import WebServices

@Suite struct SettingsPageTests {
    @Test func `the manual's table has the settings of the gateway`() throws {
        let root = #filePath.components(separatedBy: "/Tests/")[0]
        let page = try String(contentsOfFile: root + "/Sources/BelfryTool/Belfry.docc/WebServices.md", encoding: .utf8)
        let table = try #require(
            page.components(separatedBy: "## Settings").last?.components(separatedBy: "\n## ").first)
        let cells = table.split(separator: "\n").filter { $0.hasPrefix("| `") }.compactMap {
            $0.split(separator: "|").first
        }
        let listed = cells.flatMap { $0.matches(of: /`([A-Za-z]+)`/).map { String($0.1) } }
        let file = try PipelineFile.parse(
            "pipeline: web\nstages: {ingest: {}}\napi: {}\n", file: "web.yaml", registry: .builtIns)
        let known = try #require(file.api).keys(of: GatewaySettings.self)
        #expect(listed.sorted() == known.sorted())
    }
}
