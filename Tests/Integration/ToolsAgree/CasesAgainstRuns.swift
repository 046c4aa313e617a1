import Foundation
import PipelineKit
import Synchronization
import TestSupport
import Testing

@testable import BelfryTool
@testable import Inspect

/// Compares the cases of `belfry trace --export` with `belfry run`. A run of a case must have the result that the
/// export states.
struct CasesAgainstRuns {
    private let run: LoggedRun
    private let finder: any EventFinder

    init(_ run: LoggedRun, _ finder: any EventFinder = LogScan()) { (self.run, self.finder) = (run, finder) }

    /// - Parameter oneIn: On average, one of this many outcomes is exported. With 1, all outcomes are exported.
    func check(oneIn: Int, _ random: inout Seeded) async throws {
        for outcome in try run.events(of: run.log(.outcomes)) where outcome.type == "outcome" && random.isOneIn(oneIn) {
            do { try await check(outcome) } catch let failure as ToolFailure {
                Issue.record("\(run.name), outcome \(outcome.sequence): \(failure.message)")
            }
        }
    }

    private func check(_ outcome: LoggedRun.Event) async throws {
        let made = try CaseExport(logs: run.recorded, finder: finder, seed: PipelineRun.standardSeed).make(
            .outcome(outcome.sequence))
        let (again, pushes) = try await Self.run(made.text, run.file)
        let word = outcome.text("outcome")
        let outcomes = try again.events(of: again.log(.outcomes)).map { $0.text("outcome") }
        let what: Comment = "\(run.name), outcome \(outcome.sequence), \(word): \(made.expectation)\n\(made.text)"
        #expect(outcomes.contains(word), what)
        if word == "accepted" { #expect(pushes.contains { made.expectation.hasSuffix($0) }, what) }
        #expect(try again.events(of: again.log(.changes)).count >= made.inputCount, what)
    }

    /// Runs a case. Returns its logs, and for each push the words that end the export's expectation of such a push.
    private static func run(_ text: String, _ file: PipelineFile) async throws -> (LoggedRun, [String]) {
        let folder = try Folder()
        let input = try folder.write(text, to: "case.ndjson")
        let output = Mutex<[UInt8]>([])
        _ = try await PipelineRun(
            file, data: folder.path, sources: [InputSource(path: input)],
            writer: PushWriter { bytes in output.withLock { $0 += bytes } }, reportLine: { Issue.record("\($0)") }
        ).run()
        let pushes = try Data(output.withLock { $0 }).split(separator: UInt8(ascii: "\n")).map { line in
            let push = try #require(try JSONSerialization.jsonObject(with: line) as? [String: Any])
            let payload = try #require(push["payload"] as? [String: Any])
            let isPruned = (payload["ck"] as? [String: Any])?["p"] != nil
            let bytes = payloadBytes(String(decoding: line, as: UTF8.self))
            return "with a payload of \(bytes) bytes\(isPruned ? ", pruned" : "")"
        }
        return (LoggedRun("a case", file, logs: folder.file("logs"), owner: folder), pushes)
    }

    /// The length of a push's payload in bytes. In the push, the payload stands between the names of the members
    /// `payload` and `causes`.
    private static func payloadBytes(_ push: String) -> Int {
        let start = push.firstRange(of: #""payload":"#)?.upperBound ?? push.startIndex
        let end = push.firstRange(of: #","causes":["#)?.lowerBound ?? push.endIndex
        return push[start..<end].utf8.count
    }
}
