import EventLog
import JSON
import PipelineKit
import PipelineRuntime

/// Makes machines for built-in stages, for plugin stages (stages with a `command`), and for programs that replace
/// stages.
package struct MachineFactory: Sendable {
    package let registry: Registry
    /// The programs that replace stages, with their arguments, by stage name.
    package var programs: [String: [String]] = [:]
    /// How long a plugin stage, or a program that replaces a stage, may take to reply to one request.
    package var replyTimeout = Duration.seconds(60)

    package init(registry: Registry, programs: [String: [String]] = [:]) {
        self.registry = registry
        self.programs = programs
    }

    /// A machine with the recorded stage's settings, which gets the answers that the stage got.
    ///
    /// - Parameter sequence: The answers begin after this event of the stage's own log.
    func machine(for recorded: RecordedStage, after sequence: UInt64 = 0) throws -> any StageMachine {
        try machine(
            recorded.stage, context: recorded.context,
            answers: answers(of: recorded.stage, in: recorded.log.directory, after: sequence),
            history: recorded.settingsHistory())
    }

    /// - Parameter history: The recorded settings. Its entries for this kind of stage replace the pipeline file's
    ///   settings. Ignored for a plugin stage and for a stage that takes no snapshots.
    func machine(
        _ stage: PipelineStage, context: StageContext, answers: any AnswerSource, history: SettingsHistory? = nil
    ) throws -> any StageMachine {
        if let program = programs[stage.name] {
            return try ProgramMachine(
                program, WorkerBeginning(stage, context, history), answers: answers, replyTimeout: replyTimeout)
        }
        guard stage.command.isEmpty else {
            return try PluginMachine(stage, context: context, replyTimeout: replyTimeout)
        }
        return try swiftMachine(stageType(stage), stage, context, answers, history)
    }

    /// The answers that a stage's own log records. For a plugin stage, every push is accepted.
    func answers(of stage: PipelineStage, in log: String, after sequence: UInt64 = 0) throws -> any AnswerSource {
        guard stage.command.isEmpty else { return AcceptedAnswers() }
        return try LoggedAnswers(of: stageType(stage), log: log, after: sequence)
    }

    func stageType(_ stage: PipelineStage) throws(ReplayError) -> any Stage.Type {
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
            stage.settings.decode(S.Settings.self), context: context, answers: answers, history: history)
    }
}

extension RecordedStage {
    /// The settings that the stage ran with, from the file beside its log. A plugin stage has no such file, so its
    /// history is empty.
    ///
    /// If a built-in stage has no such file, its log was written before Belfry recorded settings, or the file was lost.
    /// Then the pipeline file's settings apply to the whole log.
    package func settingsHistory() throws -> SettingsHistory {
        let history = try SettingsHistory(logDirectory: log.directory)
        guard history.entries.isEmpty, stage.command.isEmpty else { return history }
        let entry = SettingsHistory.Entry(
            after: 0, now: .epoch, kind: stage.kind, settings: stage.settingsAsWritten)
        return SettingsHistory([entry], path: history.path)
    }

    fileprivate var hasRecordedSettings: Bool {
        get throws(EventLogError) { try !SettingsHistory(logDirectory: log.directory).entries.isEmpty }
    }
}

extension WorkerBeginning {
    init(_ stage: PipelineStage, _ context: StageContext, _ history: SettingsHistory?) {
        self.init(
            stage: stage.name, kind: stage.kind, context: context, settings: stage.settingsAsWritten,
            history: history?.entries ?? [])
    }
}

extension RecordedPipeline {
    /// The built-in stages, except the source, that have events but no recorded settings. They are replayed with the
    /// pipeline file's settings.
    package var stagesWithoutSettings: [RecordedStage] {
        get throws {
            try stages.filter { stage in
                try !stage.isSource && stage.stage.command.isEmpty && stage.log.lastSequence > 0
                    && !stage.hasRecordedSettings
            }
        }
    }

    /// Names of the stages, except the source, with recorded settings that differ from the pipeline file's.
    package func stagesUnderOtherSettings(_ registry: Registry) throws -> [String] {
        try stages.filter { stage in
            let record = registry.record(of: stage.stage)
            return try !stage.isSource && stage.hasRecordedSettings
                && stage.settingsHistory().plainRecords.contains { $0 != record }
        }.map(\.name)
    }
}
