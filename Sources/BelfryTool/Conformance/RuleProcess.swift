import EventLog
import Foundation
import Glibc
import JSON
import PipelineRuntime
import PipelineTestKit
import ZeroMQ

/// One rule tried on a stage in a process of its own, so that a stage that traps, or never ends, breaks that rule alone.
enum RuleProcess {
    private static let patience = DispatchTimeInterval.seconds(120)

    // MARK: The process

    /// Prints what became of the rule, and what two processes must agree on.
    static func answer(_ stage: StageConformance, _ rule: ConformanceRule) throws {
        let result = stage.result(rule)
        let line = try ByteBuffer.object {
            ConformanceReport.add(result, to: &$0)
            guard rule == .repeats, result.verdict == .passed else { return }
            let said = Array(try stage.said().joined(separator: "\n").utf8)
            $0.append("digest", "\(said.withUnsafeBytes { CRC32C.checksum($0) }) \(said.count)")
        }
        try StandardOutput.write(line: line.text)
    }

    // MARK: Who starts it

    /// - Parameter arguments: The command's own.
    static func result(of rule: ConformanceRule, _ arguments: [String]) async throws -> ConformanceResult {
        let first = try await answer(to: rule, arguments)
        guard rule == .repeats, first.result.verdict == .passed else { return first.result }
        let second = try await answer(to: rule, arguments)
        guard second.result.verdict == .passed, first.digest != second.digest else { return second.result }
        return ConformanceResult(
            rule,
            .failed("another process gets other output: the order of a hash table shows, or a clock or chance is read"))
    }

    private static func answer(to rule: ConformanceRule, _ arguments: [String]) async throws -> Answer {
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
            guard let exit = child.wait(atMost: patience) else {
                child.signal(SIGKILL)
                return Answer(ConformanceResult(rule, .failed("the stage has not come to an end in two minutes")))
            }
            guard exit.status == 0, !exit.wasSignalled else {
                let seen = "the stage crashed: its process \(exit.text); what it said last is on standard error"
                return Answer(ConformanceResult(rule, .failed(seen)))
            }
            return try Answer(rule, text(from: ends[0]))
        }
    }

    private static func text(from descriptor: Int32) -> [UInt8] {
        var (text, piece) = ([UInt8](), [UInt8](repeating: 0, count: 64 << 10))
        while case let count = read(descriptor, &piece, piece.count), count > 0 { text += piece[..<count] }
        return text
    }
}

/// What such a process says.
private struct Answer: Sendable {
    let result: ConformanceResult
    var digest: String?

    init(_ result: ConformanceResult) { self.result = result }

    init(_ rule: ConformanceRule, _ text: [UInt8]) throws {
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
