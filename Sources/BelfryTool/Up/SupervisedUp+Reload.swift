import PipelineKit
import PipelineRuntime
import Synchronization
import ZeroMQ

/// SIGHUP to `belfry up`. What each stage does then is ``ReloadableStage``.
extension SupervisedUp {
    /// Checks the whole file, and has all stages go on with it, or none.
    func reload(_ supervisor: Supervisor) async {
        do {
            let (text, checked) = try await SocketThread.run(name: "reload") { [path = text.path] in
                let text = try PipelineText(running: path)
                return (text, try CheckedPipeline(text))
            }
            try checked.checkKeys()
            try checked.checkGoesOn(from: state.withLock { $0.file })
            let answers = try await supervisor.change(to: text)
            if let refusal = refusal(answers) { return refuse(refusal) }
            state.withLock { $0.file = checked.file }
            StandardError.write("\(text.path) is valid; the stages go on with it")
        } catch {
            refuse(ToolFailure(explaining: error)?.message ?? "\(error)")
        }
    }

    /// What the operator is told where not every stage is ready; a stage that refused has said why.
    private func refusal(_ answers: [String: Supervisor.Answer]) -> String? {
        let lines = answers.sorted { $0.key < $1.key }.compactMap { stage, answer -> String? in
            switch answer {
            case .ready: nil
            case .refused: "\(stage): cannot go on with \(text.path)"
            case .absent: "\(stage): has no process to ask; send SIGHUP again when it runs, or restart belfry up"
            }
        }
        return lines.isEmpty ? nil : lines.joined(separator: "\n")
    }

    private func refuse(_ reason: String) {
        guard !isStopping else { return }
        StandardError.write("\(reason)\nall goes on with the settings of before")
    }
}
