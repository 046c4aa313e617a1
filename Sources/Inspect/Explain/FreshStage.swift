import BuiltIns
import EventLog
import PipelineKit

/// Makes a stage without any state, to be fed events and asked for explanations.
enum FreshStage {
    static func make(_ stage: PipelineStage, _ context: StageContext) throws -> (any Stage)? {
        guard let type = Registry.builtIns.stages[stage.kind] else { return nil }
        return try make(type, stage.settings, context)
    }

    private static func make<S: Stage>(
        _ type: S.Type, _ settings: SettingsReader, _ context: StageContext
    ) throws -> any Stage {
        try S(try settings.decode(S.Settings.self), context: context)
    }
}

extension Stage {
    mutating func feed(_ event: LoggedEvent) throws {
        var out = Outbox()
        try event.withInput { receive($0, at: event.now, into: &out) }
    }

    func explain(_ event: LoggedEvent, for subject: ExplainedSubject) throws -> [Explanation] {
        try event.withInput { explain($0, at: event.now, for: subject) }
    }
}

extension LoggedEvent {
    fileprivate func withInput<Result>(_ body: (borrowing InputEvent) -> Result) throws -> Result {
        try withJSON { json in
            line.withUnsafeBytes { body(InputEvent(sequence: sequence, json: json, line: $0)) }
        }
    }
}
