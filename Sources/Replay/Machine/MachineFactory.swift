import EventLog
import JSON
import PipelineKit
import PipelineRuntime

/// Makes machines of the stages that a program knows.
package struct MachineFactory: Sendable {
    package let registry: Registry
    /// Programs that take the place of stages, by the stages' names.
    package var programs: [String: String] = [:]

    package init(registry: Registry, programs: [String: String] = [:]) {
        self.registry = registry
        self.programs = programs
    }

    /// A machine that stands where the recorded stage stood, and gets the answers that it got.
    package func machine(for recorded: RecordedStage) throws -> any StageMachine {
        try machine(
            recorded.stage, context: recorded.context, answersFrom: recorded.log.directory,
            history: SettingsHistory(logDirectory: recorded.log.directory))
    }

    /// - Parameters:
    ///   - log: The log whose events record the answers; nil: every push is accepted.
    ///   - history: The settings that count in place of the pipeline file's, where it holds some.
    package func machine(
        _ stage: PipelineStage, context: StageContext, answersFrom log: String?, history: SettingsHistory? = nil
    ) throws -> any StageMachine {
        guard stage.command.isEmpty, programs[stage.name] == nil else {
            throw ReplayError.unsupported(
                "stage \(stage.name) is a program; only stages of this build are replayed so far")
        }
        return try swiftMachine(stageType(stage), stage, context, log, history)
    }

    package func stageType(_ stage: PipelineStage) throws(ReplayError) -> any Stage.Type {
        guard let type = registry.stages[stage.kind] else {
            throw .unknownStage(stage.name, kind: stage.kind)
        }
        return type
    }

    private func swiftMachine<S: Stage>(
        _ type: S.Type, _ stage: PipelineStage, _ context: StageContext, _ log: String?, _ history: SettingsHistory?
    ) throws -> any StageMachine {
        try SwiftMachine<S>(
            stage.settings.decode(S.Settings.self), context: context, answers: answers(S.self, log), history: history,
            limits: S.isSource ? EventReader.doorLimits : EventReader.linkLimits)
    }

    private func answers<S: Stage>(_ type: S.Type, _ log: String?) throws -> any AnswerSource {
        guard let log else { return AcceptedAnswers() }
        return try RecordedAnswers(log: log) { S.answer(recordedIn: $0) }
    }
}
