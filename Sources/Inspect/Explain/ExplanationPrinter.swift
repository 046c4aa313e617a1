import PipelineKit
import StageTool

/// Prints an answer as a tree for people, the verdict first.
package struct ExplanationPrinter {
    private let painter: Painter

    package init(painter: Painter) { self.painter = painter }

    package func lines(of answer: ExplainedAnswer) -> [String] {
        let text = answer.verdict.withoutControls
        let verdict = answer.isPushed ? painter.green(text) : painter.red(text)
        var lines = ["\(verdict) (\(answer.reason.code.rawValue))", ""]
        lines.append(
            "change \(answer.change.sequence), \(answer.change.event.now.rfc3339): \(answer.change.text)"
                .withoutControls)
        for explanation in answer.explanations { append(explanation, depth: 1, to: &lines) }
        guard answer.devices.count > 1 else { return lines }
        lines.append("devices of \(answer.subject.user)".withoutControls)
        for device in answer.devices {
            lines.append(
                "  \(sign(device.isPushed ? .allowsPush : .preventsPush)) "
                    + "\(device.name): \(device.reason.text) (\(device.reason.code.rawValue))".withoutControls)
        }
        return lines
    }

    private func append(_ explanation: Explanation, depth: Int, to lines: inout [String]) {
        let indent = String(repeating: "  ", count: depth)
        let code = painter.dim("(\(explanation.code.rawValue))")
        lines.append(
            "\(indent)\(sign(explanation.code.effect)) \(explanation.text.withoutControls) \(code)"
        )
        for part in explanation.parts { append(part, depth: depth + 1, to: &lines) }
    }

    private func sign(_ effect: ExplanationCode.Effect) -> String {
        switch effect {
        case .allowsPush: painter.green("✓")
        case .preventsPush: painter.red("✗")
        case .none: "·"
        }
    }
}
