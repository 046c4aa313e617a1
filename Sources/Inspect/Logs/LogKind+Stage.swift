import BuiltIns
import Events
import PipelineKit

extension LogKind {
    private static let stages = Dictionary(
        uniqueKeysWithValues: allCases.map { ($0, Registry.builtIns.kind(writing: $0) ?? $0.rawValue) })

    /// The kind of the built-in stage that writes such a log.
    var stage: String { LogKind.stages[self] ?? rawValue }
}

extension Explanation {
    init(_ log: LogKind, _ code: ExplanationCode, _ text: String, _ details: [Detail] = []) {
        self.init(log.stage, code, text, details)
    }
}
