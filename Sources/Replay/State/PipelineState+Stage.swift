import PipelineKit

extension PipelineState {
    /// What stages of one kind, as they stand at the end of their logs, say to a question.
    ///
    /// - Returns: Each stage's name in the pipeline file, and its answer.
    package func ask<S: Stage, Answer>(_ type: S.Type, _ question: (S) -> Answer) throws -> [(
        stage: String, answer: Answer
    )] {
        var answers: [(stage: String, answer: Answer)] = []
        for recorded in recorded.stages where recorded.stage.kind == S.kind && recorded.stage.command.isEmpty {
            guard let machine = try machine(of: recorded, at: .end).0 as? SwiftMachine<S> else { continue }
            answers.append((recorded.name, question(machine.clock.stage)))
        }
        return answers
    }
}
