import Events
import Inspect
import JSON
import Replay

/// Describes the result of a replay, as lines for people or as JSON.
struct ReplayReport {
    let stages: [PipelineReplay.StageResult]
    /// The answers to the pushes; nil without `--really-send`.
    let sent: SentPushes?

    init(_ stages: [PipelineReplay.StageResult], sent: SentPushes? = nil) { (self.stages, self.sent) = (stages, sent) }

    /// The first difference, in the order of the stages.
    var difference: ReplayDifference? { stages.lazy.compactMap(\.difference).first }

    var notes: [String] { stages.map { "\($0.stage): \(note($0))" } + (sent?.lines ?? []) }

    /// The most important verdict of the stages.
    var verdict: PipelineReplay.StageResult.Verdict {
        let verdicts = Set(stages.map(\.verdict))
        return [.different, .identical, .nothing].first { verdicts.contains($0) } ?? .recalled
    }

    private func note(_ stage: PipelineReplay.StageResult) -> String {
        if stage.isSource {
            return stages.count == 1
                ? "read back \(stage.events.of("event"))" : "\(stage.events.of("event")), the input of the other stages"
        }
        if let difference = stage.difference { return "differs, first at \(difference.log) \(difference.sequence)" }
        let unprocessed =
            stage.unprocessed > 0
            ? "; the stage had not processed the last \(stage.unprocessed.of("event")) of its input when its log ended"
            : ""
        guard stage.verdict == .identical else { return "nothing to compare\(unprocessed)" }
        return "identical, \(stage.events.of("input event"))\(compared(stage))\(unprocessed)"
    }

    private func compared(_ stage: PipelineReplay.StageResult) -> String {
        guard stage.isPartial, let range = stage.compared.range else { return "" }
        let sequences = range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
        return "; compared \(stage.compared.count.of("event")), \(stage.log) \(sequences)"
    }

    var lines: [String] {
        switch verdict {
        case .nothing: ["compared 0 events"]
        case .recalled: ["read back, not compared"]
        case .identical, .different: difference.map(ReplayReport.lines) ?? ["identical"]
        }
    }

    private static func lines(_ difference: ReplayDifference) -> [String] {
        let pointer = difference.pointer.map { $0.isEmpty ? ", written differently" : ", \($0)" } ?? ""
        return [
            "different: log \(difference.log), sequence \(difference.sequence)\(pointer)",
            "  recorded: \(difference.recorded?.withoutControls ?? nothing(difference))",
            "  replayed: \(difference.replayed?.withoutControls ?? nothing(difference))",
        ] + cause(difference.cause)
    }

    private static func nothing(_ difference: ReplayDifference) -> String {
        difference.pointer == nil ? "no such event" : "no such member"
    }

    private static func cause(_ cause: ReplayDifference.Cause) -> [String] {
        switch cause {
        case .event(let log, let sequence, let text):
            ["  input:    log \(log), sequence \(sequence)\(text.map { ": \($0.withoutControls)" } ?? "")"]
        case .wake(let now): ["  input:    no event, but a deadline or an answer at \(now.rfc3339)"]
        case .unknown: []
        }
    }
}

extension ReplayReport {
    var json: String {
        ByteBuffer.object {
            $0.append("result", verdict.rawValue)
            $0.append("compared", stages.reduce(0) { $0 + $1.compared.count })
            $0.append("difference", raw: difference.map(ReplayReport.json))
            $0.append("stages", stages) { $0.append(raw: ReplayReport.json($1)) }
            $0.append("sent", raw: sent.map(ReplayReport.json))
        }.text
    }

    private static func write(_ compared: ComparedEvents, to buffer: inout ByteBuffer) {
        buffer.append("compared", compared.count)
        guard let range = compared.range else { return }
        buffer.append(.first, range.lowerBound)
        buffer.append(.last, range.upperBound)
    }

    private static func json(_ sent: SentPushes) -> String {
        ByteBuffer.object {
            $0.append("transport", sent.transport)
            $0.append("accepted", sent.accepted)
            $0.append("refused", sent.refused)
            $0.append("deferred", sent.deferred)
        }.text
    }

    private static func json(_ stage: PipelineReplay.StageResult) -> String {
        ByteBuffer.object {
            $0.append("stage", stage.stage)
            $0.append(.log, stage.log)
            $0.append("result", stage.verdict.rawValue)
            $0.append("events", stage.events)
            $0.append("untaken", stage.unprocessed)
            write(stage.compared, to: &$0)
            $0.append("difference", raw: stage.difference.map(json))
        }.text
    }

    private static func json(_ difference: ReplayDifference) -> String {
        ByteBuffer.object {
            $0.append("stage", difference.stage)
            $0.append(.log, difference.log)
            $0.append(.sequence, difference.sequence)
            if difference.pointer == nil { $0.append("pointer", raw: "null") }
            $0.append("pointer", difference.pointer)
            $0.append("recorded", raw: difference.recorded ?? "null")
            $0.append("replayed", raw: difference.replayed ?? "null")
            $0.append("input", raw: json(difference.cause))
        }.text
    }

    private static func json(_ cause: ReplayDifference.Cause) -> String? {
        switch cause {
        case .event(let log, let sequence, _): EventPlace(log: log, sequence: sequence).json
        case .wake(let now): ByteBuffer.object { $0.append("time", now.rfc3339) }.text
        case .unknown: nil
        }
    }
}
