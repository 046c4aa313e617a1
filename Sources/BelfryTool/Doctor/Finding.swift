import JSON
import PipelineKit

/// One thing that a check found.
typealias Finding = StageFinding

extension Finding.Severity {
    var isProblem: Bool { self == .warning || self == .error }
}

extension Finding {
    init(
        _ severity: Severity, _ code: String, _ text: String, lines: [String] = [], fix: String? = nil,
        _ details: KeyValuePairs<String, ReportValue>
    ) {
        self.init(
            severity, code, text, lines: lines, fix: fix, details.map { Explanation.Detail($0.key, $0.value.buffer) })
    }

    /// - Parameter check: The check's name.
    func json(_ check: String) -> String {
        ByteBuffer.object {
            $0.append("check", check)
            $0.append("severity", severity.rawValue)
            $0.append("code", code)
            $0.append("text", text)
            $0.append("fix", fix)
            for detail in details {
                $0.append(key: detail.name)
                $0.append(raw: String(decoding: detail.json, as: UTF8.self))
            }
        }.text
    }
}
