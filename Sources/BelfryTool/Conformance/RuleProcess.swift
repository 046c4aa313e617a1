import EventLog
import Foundation
import Glibc
import JSON
import PipelineRuntime
import PipelineTestKit
import ZeroMQ

/// Checks one rule of a stage in a process of its own, so that a stage that crashes or never ends fails one rule only.
enum RuleProcess {
    private static let timeMax = DispatchTimeInterval.seconds(120)

    // MARK: In the child process

    /// Prints the result as JSON. If the rule `repeats` passed, it also prints a digest of the stage's output, which
    /// the parent compares with the digest of another process.
    static func printResult(of rule: ConformanceRule, for stage: StageConformance) throws {
        let result = stage.result(rule)
        let line = try ByteBuffer.object {
            ConformanceReport.write(result, to: &$0)
            guard rule == .repeats, result.verdict == .passed else { return }
            let outputs = Array(try stage.outputs().joined(separator: "\n").utf8)
            $0.append("digest", "\(outputs.withUnsafeBytes { CRC32C.checksum($0) }) \(outputs.count)")
        }
        try StandardOutput.write(line: line.text)
    }

    // MARK: In the parent process

    /// - Parameter arguments: The arguments of `belfry`, beginning with `conformance`.
    static func result(of rule: ConformanceRule, _ arguments: [String]) async throws -> ConformanceResult {
        let first = try await runChild(for: rule, arguments)
        guard rule == .repeats, first.result.verdict == .passed else { return first.result }
        let second = try await runChild(for: rule, arguments)
        guard second.result.verdict == .passed, first.digest != second.digest else { return second.result }
        return ConformanceResult(
            rule,
            .failed(
                "another process gives other output: the stage uses a hash table's order, a clock or random numbers"))
    }

    private static func runChild(for rule: ConformanceRule, _ arguments: [String]) async throws -> Answer {
        try await SocketThread.run(name: "rule") {
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else { throw ToolFailure(.inputOutput, "cannot make a pipe: errno \(errno)") }
            defer { close(ends[0]) }
            let child: ChildProcess
            do {
                defer { close(ends[1]) }
                child = try ChildProcess(
                    ["/proc/self/exe"] + arguments + ["--rule", rule.rawValue], standard: .lifeline(output: ends[1]))
            }
            guard let exit = child.wait(atMost: timeMax) else {
                child.signal(SIGKILL)
                return Answer(ConformanceResult(rule, .failed("the stage has not finished in two minutes")))
            }
            guard exit.status == 0, !exit.wasSignalled else {
                let seen = "the stage crashed: its process \(exit.text); its last messages are on standard error"
                return Answer(ConformanceResult(rule, .failed(seen)))
            }
            return try Answer(rule, FileHandle(fileDescriptor: ends[0]).readToEnd() ?? Data())
        }
    }
}

/// The answer of the child process.
private struct Answer: Sendable {
    let result: ConformanceResult
    var digest: String?

    init(_ result: ConformanceResult) { self.result = result }

    init(_ rule: ConformanceRule, _ text: Data) throws {
        var parser = JSONParser()
        (result, digest) = try text.withUnsafeBytes { bytes in
            let answer = try parser.parse(bytes)
            let why = answer.text("seen") ?? ""
            let verdict: ConformanceResult.Verdict =
                switch answer.text("result") {
                case "passed": .passed
                case "skipped": .skipped(why)
                default: .failed(why)
                }
            return (ConformanceResult(rule, verdict), answer.text("digest"))
        }
    }
}
