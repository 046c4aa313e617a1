import PipelineKit
import PipelineRuntime

extension StageRunner {
    /// Reads the pipeline file again, once for each signal or for several that came meanwhile.
    func reload(at signals: AsyncStream<Void>) async {
        for await _ in signals { await reload() }
    }

    private func reload() async {
        let stage = host.plan.stage
        do {
            let next = try readAgain()
            let said = try await running.reload(to: try StageHost(next.stage, of: next.checked.file, in: surroundings))
            say(said, stage, next.checked.path)
        } catch ReloadError.ended {
            return
        } catch {
            StandardError.write(StageRunner.text(of: error, stage) + "\n\(stage): goes on with the settings of before")
        }
    }

    private func readAgain() throws -> ReadStage {
        let next = try read()
        let plan = host.plan
        guard next.stage.name == plan.stage else {
            throw ToolFailure(.configuration, "\(next.checked.path) has no stage \(plan.stage) any more")
        }
        return next
    }

    /// Under `up` a stage that the change is nothing to keeps quiet.
    private func say(_ said: [String]?, _ stage: String, _ path: String) {
        if let said {
            let what = said.isEmpty ? "other settings" : said.joined(separator: "; ")
            StandardError.write("\(stage): reloaded \(path): \(what)")
        } else if !StageRunner.isSupervised {
            StandardError.write("\(stage): \(path) has nothing new")
        }
    }

    private static func text(of error: any Error, _ stage: String) -> String {
        (naming(stage, error) as? ToolFailure)?.message ?? "\(stage): \(error)"
    }
}
