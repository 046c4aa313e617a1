import Events
import JSON
import Replay

/// What a replay came to, for people and for programs.
struct ReplayReport {
    let stages: [PipelineReplay.StageResult]
    /// Nil where nothing was to be sent.
    let sent: SentPushes?

    init(_ stages: [PipelineReplay.StageResult], sent: SentPushes? = nil) { (self.stages, self.sent) = (stages, sent) }

    /// The first, in the order of the stages.
    var difference: ReplayDifference? { stages.lazy.compactMap(\.difference).first }

    /// What became of each stage.
    var notes: [String] { stages.map { "\($0.stage): \(note($0))" } + (sent?.lines ?? []) }

    /// Only what was compared can be identical.
    var verdict: PipelineReplay.StageResult.Verdict {
        let verdicts = Set(stages.map(\.verdict))
        return [.different, .identical, .nothing].first { verdicts.contains($0) } ?? .recalled
    }

    private func note(_ stage: PipelineReplay.StageResult) -> String {
        if stage.isSource {
            return stages.count == 1
                ? "recalled \(stage.events.of("event"))" : "\(stage.events.of("event")), the input of the others"
        }
        if let difference = stage.difference { return "differs from \(difference.log) \(difference.sequence) on" }
        let untaken = stage.untaken > 0 ? "; \(stage.untaken.of("event")) not yet taken when the logs end" : ""
        guard stage.verdict == .identical else { return "nothing to compare\(untaken)" }
        return "identical, \(stage.events.of("event")) of input\(compared(stage))\(untaken)"
    }

    private func compared(_ stage: PipelineReplay.StageResult) -> String {
        guard stage.isPartial, let range = stage.compared.range else { return "" }
        let place = range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
        return "; compared \(stage.compared.count.of("event")), \(stage.log) \(place)"
    }

    var lines: [String] {
        switch verdict {
        case .nothing: ["compared 0 events"]
        case .recalled: ["recalled"]
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
        case .wake(let now): ["  input:    none; the time came to \(now.rfc3339)"]
        case .unknown: []
        }
    }
}

extension ReplayReport {
    var json: String {
        var buffer = ByteBuffer()
        buffer.append("{")
        buffer.append("result", verdict.rawValue)
        buffer.append("compared", stages.reduce(0) { $0 + $1.compared.count })
        if let difference {
            buffer.append(",\"difference\":")
            ReplayReport.write(difference, to: &buffer)
        }
        buffer.append("stages", stages) { ReplayReport.write($1, to: &$0) }
        if let sent { ReplayReport.write(sent, to: &buffer) }
        buffer.append("}")
        return buffer.text
    }

    private static func write(_ compared: ComparedEvents, to buffer: inout ByteBuffer) {
        buffer.append("compared", compared.count)
        guard let range = compared.range else { return }
        buffer.append(.first, range.lowerBound)
        buffer.append(.last, range.upperBound)
    }

    private static func write(_ sent: SentPushes, to buffer: inout ByteBuffer) {
        buffer.append(",\"sent\":{\"transport\":")
        buffer.appendJSON(sent.transport)
        buffer.append("accepted", sent.accepted)
        buffer.append("refused", sent.refused)
        buffer.append("deferred", sent.deferred)
        buffer.append("}")
    }

    private static func write(_ stage: PipelineReplay.StageResult, to buffer: inout ByteBuffer) {
        buffer.append("{")
        buffer.append("stage", stage.stage)
        buffer.append(.log, stage.log)
        buffer.append("result", stage.verdict.rawValue)
        buffer.append("events", stage.events)
        buffer.append("untaken", stage.untaken)
        write(stage.compared, to: &buffer)
        if let difference = stage.difference {
            buffer.append(",\"difference\":")
            write(difference, to: &buffer)
        }
        buffer.append("}")
    }

    private static func write(_ difference: ReplayDifference, to buffer: inout ByteBuffer) {
        buffer.append("{")
        buffer.append("stage", difference.stage)
        buffer.append(.log, difference.log)
        buffer.append(.sequence, difference.sequence)
        buffer.append(",\"pointer\":")
        write(text: difference.pointer, to: &buffer)
        buffer.append("recorded", raw: difference.recorded ?? "null")
        buffer.append("replayed", raw: difference.replayed ?? "null")
        write(difference.cause, to: &buffer)
        buffer.append("}")
    }

    private static func write(text: String?, to buffer: inout ByteBuffer) {
        if let text { buffer.appendJSON(text) } else { buffer.append("null") }
    }

    private static func write(_ cause: ReplayDifference.Cause, to buffer: inout ByteBuffer) {
        switch cause {
        case .event(let log, let sequence, _):
            buffer.append(",\"input\":{\"log\":")
            buffer.appendJSON(log)
            buffer.append(.sequence, sequence)
            buffer.append("}")
        case .wake(let now):
            buffer.append(",\"input\":{\"time\":")
            buffer.appendJSON(now.rfc3339)
            buffer.append("}")
        case .unknown: break
        }
    }
}
