import PipelineKit
import PipelineRuntime
import Synchronization
import WebServices
import ZeroMQ

/// The reload of `belfry up` on SIGHUP. See ``ReloadableStage`` for what each stage does.
extension SupervisedUp {
    /// Checks the whole file. Then either all stages use it, or no stage does.
    func reload(_ supervisor: Supervisor) async {
        do {
            let (path, host) = (text.path, state.withLock { $0.file.host?.name })
            let (text, checked) = try await SocketThread.run(name: "reload") {
                let text = try PipelineText(forLongRunningProcess: path)
                return (text, try CheckedPipeline(text, host: host).onHost())
            }
            try checked.checkKeys()
            try checked.checkGateway()
            try checked.checkReload(from: state.withLock { $0.file })
            let answers = try await supervisor.change(to: text)
            if let refusal = refusal(answers) { return refuse(refusal) }
            state.withLock { $0.file = checked.file }
            StandardError.write("\(text.path) is valid; all stages use it now")
        } catch {
            refuse(ToolFailure(explaining: error)?.message ?? "\(error)")
        }
    }

    /// The message if a stage cannot switch to the new file; nil if all stages can. A stage that refuses the file has
    /// reported the reason itself.
    private func refusal(_ answers: [String: Supervisor.Answer]) -> String? {
        let lines = answers.sorted { $0.key < $1.key }.compactMap { stage, answer -> String? in
            switch answer {
            case .ready: nil
            case .refused: "\(stage): cannot use \(text.path)"
            case .absent: "\(stage): is not running; send SIGHUP again when it is, or restart belfry up"
            }
        }
        return lines.isEmpty ? nil : lines.joined(separator: "\n")
    }

    private func refuse(_ reason: String) {
        guard !isStopping else { return }
        StandardError.write("\(reason)\nall stages keep their previous settings")
    }
}
