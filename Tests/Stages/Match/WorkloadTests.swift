import Foundation
import Testing

/// Compares with an oracle's answer, where one is at hand: `BELFRY_MATCHING_WORKLOAD` names a folder with
/// `subscriptions.ndjson`, `changes.ndjson` and `pairs.txt`, whose lines are `<change from 0> <subscriptionID>`.
struct WorkloadTests {
    private static let folder = ProcessInfo.processInfo.environment["BELFRY_MATCHING_WORKLOAD"]

    @Test(.enabled(if: folder != nil, "BELFRY_MATCHING_WORKLOAD is not set"))
    func `pairs are those of the oracle`() throws {
        var feed = try Feed()
        for line in try lines("subscriptions.ndjson") { _ = try feed.send(line) }
        var pairs: [String] = []
        for (number, line) in try lines("changes.ndjson").enumerated() {
            pairs += try feed.watchers(line).sorted().map { "\(number) \($0)" }
        }
        #expect(feed.rejections == [])
        #expect(try pairs == lines("pairs.txt"))
    }

    private func lines(_ name: String) throws -> [String] {
        let text = try String(contentsOfFile: "\(Self.folder ?? "")/\(name)", encoding: .utf8)
        return text.split(separator: "\n").map(String.init)
    }
}
