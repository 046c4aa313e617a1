import JSON
import PipelineTestKit

/// Prints the result for each rule, for people or as NDJSON.
struct ConformanceReport {
    private let name: String
    private let isJSON: Bool
    private var results: [ConformanceResult] = []

    init(name: String, isJSON: Bool) { (self.name, self.isJSON) = (name, isJSON) }

    mutating func add(_ result: ConformanceResult) throws {
        results.append(result)
        let json = ByteBuffer.object { Self.write(result, to: &$0) }.text
        try StandardOutput.write(line: isJSON ? json : text(result))
    }

    /// - Throws: ``ToolFailure`` with 1 if a rule is broken.
    func end() throws {
        let broken = results.filter { $0.problem != nil }
        let skipped = results.filter { if case .skipped = $0.verdict { true } else { false } }
        let kept = results.count - broken.count - skipped.count
        if isJSON {
            let line = ByteBuffer.object {
                $0.append("type", "summary")
                $0.append("subject", name)
                $0.append("passed", kept)
                $0.append("failed", broken.count)
                $0.append("skipped", skipped.count)
            }
            try StandardOutput.write(line: line.text)
        } else {
            let names = broken.map(\.rule.rawValue).joined(separator: ", ")
            try StandardOutput.write(
                line: broken.isEmpty
                    ? "\(name) keeps \(kept.of("rule"))"
                    : "\(name) breaks \(broken.count.of("rule")) of \(results.count): \(names)")
        }
        if !broken.isEmpty { throw ToolFailure(.no) }
    }

    private func text(_ result: ConformanceResult) -> String {
        let rule = result.rule.rawValue.padded(to: 9)
        return switch result.verdict {
        case .passed: "kept     \(rule)  \(result.rule.sentence)"
        case .skipped(let why): "skipped  \(rule)  \(why.withoutControls)"
        case .failed(let seen):
            "BROKEN   \(rule)  \(result.rule.sentence)\n                    \(seen.withoutControls)"
        }
    }

    static func write(_ result: ConformanceResult, to line: inout ByteBuffer) {
        line.append("type", "rule")
        line.append("rule", result.rule.rawValue)
        line.append("sentence", result.rule.sentence)
        switch result.verdict {
        case .passed: line.append("result", "passed")
        case .failed(let seen):
            line.append("result", "failed")
            line.append("seen", seen)
        case .skipped(let why):
            line.append("result", "skipped")
            line.append("seen", why)
        }
    }
}
