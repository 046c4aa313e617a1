import Events
import JSON
import PipelineKit
import PipelineRuntime

/// Explains why a stage rejected events, crashed on them or did not pass them on, from its log of dead letters.
enum DeadLetterReasons {
    /// The explanations of the events with these sequences, as far as the log of dead letters names them. The keys are
    /// the events' sequences.
    static func all(
        of sequences: Set<UInt64>, _ stage: PipelineStage, _ logs: RecordedLogs
    ) throws -> [UInt64: Explanation] {
        let log = logs.log(of: stage) + LogPlace.deadLetters
        guard let first = sequences.first, LogPlace.isLog(log) else { return [:] }
        var found: [UInt64: Explanation] = [:]
        let required: [RequiredValue] = sequences.count == 1 ? [.sequence(first)] : []
        _ = try LogScan.events(in: log, from: .epoch, containing: required) { event in
            guard let sequence = event.json[.sequence]?.sequence, sequences.contains(sequence) else { return }
            found[sequence] = explanation(event.json, stage)
        } isEnough: { _ in
            found.count == sequences.count
        }
        return found
    }

    /// The sequences of events that a stage never processed because it crashed on them.
    static func crashes(of stage: PipelineStage, _ logs: RecordedLogs) throws -> Set<UInt64> {
        Set(try SetAsideEvents.of(log: logs.log(of: stage)))
    }

    private static func explanation(_ letter: JSONValue, _ stage: PipelineStage) -> Explanation {
        let (code, effect): (ExplanationCode, String) =
            switch letter[.code]?.string {
            case ProgramOutputs.invalidCode: (.stageDropped, "did not pass it on")
            case SetAsideEvents.code: (refusal(stage), "set it aside")
            default: (refusal(stage), "could not use it")
            }
        return Explanation(
            stage.kind, code, "\(stage.name) \(effect): \(letter[.reason]?.string ?? "")",
            ["code", "path"].compactMap { key in letter.member(key).map { .init(key, $0) } })
    }

    private static func refusal(_ stage: PipelineStage) -> ExplanationCode {
        stage.writes == .matches ? .changeRefused : .eventDeadLetter
    }
}

extension Explanation {
    var isOfCrash: Bool { detail("code") == "\"\(SetAsideEvents.code)\"" }
}
