import Foundation
import Signing
import TestSupport
import Testing

@testable import Bench

struct MatchBenchTests {
    private static func bench(subscriptions: Int = 300, changes: Int = 1000) -> MatchBench {
        let workload = MatchWorkload(seed: 5, subscriptions: subscriptions, isDense: true)
        return MatchBench(
            subscriptions: MatchInput(name: "subscriptions", workload.forEachSubscription),
            changes: MatchInput(name: "changes") { workload.forEachChange(changes, $0) }, scanLimit: 20)
    }

    @Test
    func `a run finds exactly the pairs in its file of pairs, and reports no zero count or negative number`() throws {
        let folder = try Folder()
        let bench = Self.bench()
        let result = try bench.run(in: folder.path)
        try bench.writePairs(to: folder.path + "/pairs.txt")
        let pairs = try String(contentsOfFile: folder.path + "/pairs.txt", encoding: .utf8)
        #expect(result.pairs == pairs.split(separator: "\n").count)
        #expect(result.digest == SHA256.digest(of: pairs).hexadecimal)
        #expect(result.pairs > 100 && result.watched > 10)
        let report = MatchBenchReport(result: result, runs: 1)
        #expect(report.lines.joined(separator: "\n").contains(result.digest))
        guard case .object(let members) = report.json else { return #expect(Bool(false), "not an object") }
        for member in members {
            switch member.value {
            case .count(let count): #expect(count > 0, "\(member.key)")
            case .number(let number): #expect(number >= 0, "\(member.key)")
            default: break
            }
        }
    }

    @Test func `one operation in a hundred deletes a subscription or saves it again`() throws {
        let bench = Self.bench(subscriptions: 50, changes: 1000)
        let edits = try MatchEdits(bench.subscriptions, changes: 1000)
        let made = (0..<1000).compactMap { edits.edit(after: $0) }
        #expect(made.map(\.isDelete) == (0..<10).map { $0 % 2 == 0 })
        #expect(made.map(\.index) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
        #expect(edits.lines == [0, 19, 38, 7, 26])
        #expect(edits.touched == Set([0, 19, 38, 7, 26].map { Array("s00000\($0 < 10 ? "0" : "")\($0)".utf8) }))
        #expect(String(decoding: edits.deletions[1], as: UTF8.self).hasPrefix(#"{"type":"subscription.delete","#))
    }

    @Test func `a file that saves a subscription twice is rejected`() throws {
        let folder = try Folder()
        let bench = Self.bench(subscriptions: 2, changes: 1)
        let text = String(decoding: bench.subscriptions.bytes, as: UTF8.self)
        let twice = MatchBench(
            subscriptions: try MatchInput(folder.write(text + text, to: "twice")), changes: bench.changes, scanLimit: 1)
        let failure = try #require(throws: ToolFailure.self) { _ = try twice.run(in: folder.path) }
        #expect(failure.status == .badData && failure.message.contains("4 lines save 2 subscriptions"))
    }

    @Test func `an invalid line after an empty line is reported with its number in the file`() throws {
        let folder = try Folder()
        let input = try MatchInput(folder.write("{}\n\n{}\n", to: "lines"))
        let failure = try #require(throws: ToolFailure.self) {
            try input.readLines { index, _ in if index == 1 { throw CancellationError() } }
        }
        #expect(failure.status == .badData && failure.message.contains("lines, line 3: "))
    }

    @Test(arguments: [
        (["--count", "10,x"], "count"), (["--count", "0"], "count"), (["--subscriptions", "s"], "without --changes"),
        (["--subscriptions", "s", "--changes", "c", "--count", "5"], "leave out --count"),
        (["--pairs", "p", "--save", "s"], "give one of them"),
        (["--pairs", "p", "--count", "5,6"], "give --count one"), (["--length", "0"], "--length"),
    ])
    func `invalid options and invalid combinations of options are rejected`(arguments: [String], message: String) {
        do {
            _ = try MatchBenchCommand.parse(arguments)
            Issue.record("\(arguments) was accepted")
        } catch {
            #expect(MatchBenchCommand.fullMessage(for: error).contains(message))
        }
    }
}
