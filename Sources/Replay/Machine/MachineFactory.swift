import EventLog
import JSON
import PipelineKit
import PipelineRuntime

/// Makes machines of the stages that a program knows.
package struct MachineFactory: Sendable {
    package let registry: Registry
    /// Programs that take the place of stages, with their arguments, by the stages' names.
    package var programs: [String: [String]] = [:]
    /// How long a program may take over one answer.
    package var patience = Duration.seconds(60)

    package init(registry: Registry, programs: [String: [String]] = [:]) {
        self.registry = registry
        self.programs = programs
    }

    /// A machine that stands where the recorded stage stood, under its settings, and gets the answers that it got.
    ///
    /// - Parameter sequence: The last event of the stage's own log that lies before where the machine will begin.
    package func machine(for recorded: RecordedStage, after sequence: UInt64 = 0) throws -> any StageMachine {
        try machine(
            recorded.stage, context: recorded.context,
            answers: answers(of: recorded.stage, in: recorded.log.directory, after: sequence),
            history: recorded.settingsHistory())
    }

    /// - Parameter history: The settings that count in place of the pipeline file's, where it holds some.
    package func machine(
        _ stage: PipelineStage, context: StageContext, answers: any AnswerSource, history: SettingsHistory? = nil
    ) throws -> any StageMachine {
        if let program = programs[stage.name] {
            return try ProgramMachine(
                program, WorkerBeginning(stage, context, history), answers: answers, patience: patience)
        }
        guard stage.command.isEmpty else {
            return try PluginMachine(stage, context: context, patience: patience)
        }
        return try swiftMachine(stageType(stage), stage, context, answers, history)
    }

    /// The answers that a stage's own log records.
    func answers(of stage: PipelineStage, in log: String, after sequence: UInt64 = 0) throws -> any AnswerSource {
        guard stage.command.isEmpty else { return AcceptedAnswers() }
        return try recordedAnswers(stageType(stage), log, after: sequence)
    }

    package func stageType(_ stage: PipelineStage) throws(ReplayError) -> any Stage.Type {
        guard let type = registry.stages[stage.kind] else {
            throw .unknownStage(stage.name, kind: stage.kind)
        }
        return type
    }

    private func swiftMachine<S: Stage>(
        _ type: S.Type, _ stage: PipelineStage, _ context: StageContext, _ answers: any AnswerSource,
        _ history: SettingsHistory?
    ) throws -> any StageMachine {
        var context = context
        context.registry = registry
        return try SwiftMachine<S>(
            stage.settings.decode(S.Settings.self), context: context, answers: answers, history: history,
            limits: S.isSource ? EventReader.doorLimits : EventReader.linkLimits)
    }

    private func recordedAnswers<S: Stage>(
        _ type: S.Type, _ log: String, after sequence: UInt64
    ) throws -> any AnswerSource {
        try LoggedAnswers(of: type, log: log, after: sequence)
    }
}

extension RecordedStage {
    /// The settings that the stage ran with, as they stand beside its log.
    ///
    /// Where none do, the pipeline file's count for all of the log's past, as a build read them to which no default had
    /// changed.
    package func settingsHistory() throws -> SettingsHistory {
        let history = try SettingsHistory(logDirectory: log.directory)
        guard history.entries.isEmpty, stage.command.isEmpty else { return history }
        let entry = SettingsHistory.Entry(
            after: 0, now: .epoch, kind: stage.kind, settings: stage.settingsAsWritten)
        return SettingsHistory([entry], path: history.path)
    }

    /// Whether nothing beside the log tells of its settings.
    package var isWithoutSettings: Bool {
        get throws(EventLogError) { try SettingsHistory(logDirectory: log.directory).entries.isEmpty }
    }
}

extension WorkerBeginning {
    init(_ stage: PipelineStage, _ context: StageContext, _ history: SettingsHistory?) {
        self.init(
            stage: stage.name, kind: stage.kind, context: context,
            settings: stage.settingsAsWritten,
            history: history?.entries ?? [])
    }
}

extension RecordedPipeline {
    /// The stages with a past of which nothing tells the settings: those of the pipeline file are taken for all of it.
    package var stagesWithoutSettings: [RecordedStage] {
        get throws {
            try stages.filter { stage in
                try !stage.isSource && stage.stage.command.isEmpty && stage.log.lastSequence > 0
                    && stage.isWithoutSettings
            }
        }
    }

    /// Names of the stages whose settings on record are not, or not only, those of the pipeline file.
    package func stagesUnderOtherSettings(_ registry: Registry) throws -> [String] {
        try stages.filter { stage in
            let record = registry.record(of: stage.stage)
            return try !stage.isSource && !stage.isWithoutSettings
                && stage.settingsHistory().plainRecords.contains { $0 != record }
        }.map(\.name)
    }
}
