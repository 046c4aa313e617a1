import EventLog
import PipelineKit
import PipelineRuntime

/// The part of a pipeline's history to compare.
package struct ReplayRange: Hashable, Sendable {
    /// The first event of the range, or the earliest time of its events. Nil means the beginning of the logs.
    package var from: PipelinePosition?
    /// The last event of the range, or the latest time of its events. Nil means the end of the logs.
    package var until: PipelinePosition?

    package init(from: PipelinePosition? = nil, until: PipelinePosition? = nil) {
        (self.from, self.until) = (from, until)
    }

    /// The part of each stage's log that is in the range, by stage name.
    ///
    /// A bound that is a time selects the batches of each log by their own `now`.
    ///
    /// A bound that is a sequence means an event of the source. In each log after the source's log, the part then
    /// reaches from the first to the last batch with immediate effects of the events in the range. Both batches belong
    /// to the part as a whole. A later effect, such as the release of a held notification, is in the part only if its
    /// batch comes before the end of the part.
    package func parts(of recorded: RecordedPipeline) throws(EventLogError) -> [String: StagePart] {
        var parts: [String: StagePart] = [:]
        for stage in recorded.stages {
            parts[stage.name] = try part(of: stage, input: stage.stage.from.flatMap { parts[$0] } ?? .all)
        }
        return parts
    }

    private func part(of stage: RecordedStage, input: StagePart) throws(EventLogError) -> StagePart {
        var part = StagePart()
        let reader = try EventLogReader(directory: stage.log.directory, from: .beginning)
        var (cursor, hasBegun): (UInt64, Bool) = (0, false)
        part.first = .max
        while let header = try reader.nextHeader() {
            cursor = header.cursor.positions[stage.context.upstreamName] ?? cursor
            let unfinished = UnfinishedStep(header.cursor, of: stage.context.upstreamName)
            // If the batch ends inside the outputs of an event, this event is the one after the batch's cursor.
            let begun: UInt64 = unfinished?.kind == .event ? 1 : 0
            if !hasBegun, begins(stage, header, cursor + begun, input) {
                (part.first, hasBegun) = (header.firstSequence, true)
            }
            let done = header.cursor.firstUnanswered.map { min(cursor, $0 - 1) } ?? cursor
            if let last = partEnd(stage, header, done, input, isInWake: unfinished?.kind == .wake) {
                part.last = last
                break
            }
        }
        return part
    }

    private func begins(_ stage: RecordedStage, _ header: BatchHeader, _ cursor: UInt64, _ input: StagePart) -> Bool {
        switch from {
        case nil: true
        case .time(let time): header.now >= time
        case .end: false
        case .sequence(let sequence): stage.isSource ? header.lastSequence >= sequence : cursor >= input.first
        }
    }

    /// The last sequence of the part, if the range ends in or before this batch.
    private func partEnd(
        _ stage: RecordedStage, _ header: BatchHeader, _ cursor: UInt64, _ input: StagePart, isInWake: Bool
    ) -> UInt64? {
        switch until {
        case nil, .end: nil
        case .time(let time): header.now > time ? header.firstSequence - 1 : nil
        case .sequence(let sequence):
            if stage.isSource {
                header.lastSequence >= sequence ? header.lastSequence : nil
            } else {
                cursor >= input.last && !isInWake ? header.lastSequence : nil
            }
        }
    }
}
