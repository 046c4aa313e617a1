import PipelineTestKit

/// Says what became of each rule: for people as it is known, for programs as NDJSON.
struct ConformanceReport {
    private let name: String
    private let isJSON: Bool
    private var results: [ConformanceResult] = []

    init(name: String, isJSON: Bool) { (self.name, self.isJSON) = (name, isJSON) }

    mutating func tell(_ result: ConformanceResult) throws {
        results.append(result)
        try StandardOutput.write(line: isJSON ? json(result) : text(result))
    }

    /// - Throws: ``ToolFailure`` with 1 where a rule is broken.
    func end() throws {
        let broken = results.filter { $0.problem != nil }
        let skipped = results.filter { if case .skipped = $0.verdict { true } else { false } }
        let kept = results.count - broken.count - skipped.count
        if isJSON {
            var line = JSONLine()
            line.add("type", "summary")
            line.add("subject", name)
            line.add("passed", kept)
            line.add("failed", broken.count)
            line.add("skipped", skipped.count)
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

    private func json(_ result: ConformanceResult) -> String {
        var line = JSONLine()
        ConformanceReport.add(result, to: &line)
        return line.text
    }

    static func add(_ result: ConformanceResult, to line: inout JSONLine) {
        line.add("type", "rule")
        line.add("rule", result.rule.rawValue)
        line.add("sentence", result.rule.sentence)
        switch result.verdict {
        case .passed: line.add("result", "passed")
        case .failed(let seen):
            line.add("result", "failed")
            line.add("seen", seen)
        case .skipped(let why):
            line.add("result", "skipped")
            line.add("seen", why)
        }
    }
}
