import BuiltIns
import EventLog
import JSON
import PipelineKit
import PipelineRuntime
import Time

/// Feeds the upstream's log to a new stage. After the last input event of each batch of the original stage's log, moves
/// the new stage to the batch's time and gives it the batch's remaining answers. The new stage's outputs must equal the
/// original stage's log, byte for byte.
struct ReplayCheck {
    /// The first difference; nil if there is none.
    private(set) var difference: String?

    init(_ stage: PipelineStage, _ type: any Stage.Type, upstreamLog: String, ownLog: String) throws {
        func replay<S: Stage>(_ type: S.Type) throws -> String? {
            var run = try Run<S>(stage, upstreamLog: upstreamLog, ownLog: ownLog)
            return try run.difference()
        }
        difference = try replay(type)
    }

    private struct Run<S: Stage>: ~Copyable {
        private var clock: StageClock<S>
        private var out = Outbox()
        private var parser = JSONParser(limits: JSONLimits(depthMax: JSONLimits().depthMax + 8))
        private let upstream: String
        private let upstreamName: String
        private let batches: EventLogReader
        private var header: BatchHeader?
        private var cursor: UInt64 = 0
        private let recorded: [UInt8]
        private var answers = BatchAnswers(leavesUnanswered: true)

        init(_ stage: PipelineStage, upstreamLog upstream: String, ownLog own: String) throws {
            let (source, log) = (try EventLogs.summary(directory: upstream), try EventLogs.summary(directory: own))
            let context = StageContext(
                log: log.identity, upstream: source.identity, upstreamName: source.name, registry: .builtIns)
            let fresh = try S(try stage.settings.decode(S.Settings.self), context: context)
            let reader = try EventLogReader(directory: own, from: .beginning)
            let bytes = try Run.bytes(of: own)
            (self.upstream, upstreamName) = (upstream, source.name)
            (clock, batches, recorded) = (StageClock(fresh), reader, bytes)
        }

        private static func bytes(of directory: String) throws -> [UInt8] {
            let reader = try EventLogReader(directory: directory, from: .beginning)
            var bytes: [UInt8] = []
            while let batch = try reader.next() { bytes += batch.body }
            return bytes
        }

        mutating func difference() throws -> String? {
            try readNextBatch()
            let reader = try EventLogReader(directory: upstream, from: .beginning)
            while let batch = try reader.next() {
                var sequence = batch.header.firstSequence
                for line in Lines(batch.body) {
                    try endBatches(before: sequence)
                    wakeStage(through: batch.header.now)
                    let event = InputEvent(sequence: sequence, json: try parser.parse(line), line: line)
                    clock.receive(event, at: batch.header.now, into: &out)
                    answerDeliveries()
                    sequence += 1
                }
            }
            try endBatches(before: .max)
            return firstDifference(of: Array(out.lines))
        }

        /// Ends each batch of the stage's own log whose input ends before `sequence`: advances the stage to the batch's
        /// time and gives it the batch's remaining answers.
        private mutating func endBatches(before sequence: UInt64) throws {
            while let moment = header?.now, cursor < sequence {
                wakeStage(through: moment)
                clock.advance(to: moment, into: &out)
                for answer in answers.takeAnswersToEarlierPushes() { clock.receive(answer, into: &out) }
                try readNextBatch()
            }
        }

        private mutating func wakeStage(through moment: Instant) {
            while let deadline = clock.stage.deadline, deadline <= max(moment, clock.now) {
                clock.serveNext(into: &out)
                answerDeliveries()
            }
        }

        private mutating func readNextBatch() throws {
            let batch = try batches.next()
            header = batch?.header
            answers = BatchAnswers(
                batch.map { RecordedAnswers(of: S.self).read($0) } ?? [],
                leavesUnanswered: header?.cursor.hasUnansweredPushes ?? true)
            if let position = header?.cursor.positions[upstreamName] { cursor = position }
        }

        private mutating func answerDeliveries() {
            _ = out.takeRejections()
            for delivery in out.takeDeliveries() {
                if let answer = answers.takeImmediateAnswer(to: delivery.id) { clock.receive(answer, into: &out) }
            }
        }

        private func firstDifference(of replayed: [UInt8]) -> String? {
            guard replayed != recorded else { return nil }
            let (replayed, recorded) = (replayed.split(separator: 0x0A), recorded.split(separator: 0x0A))
            let place =
                zip(replayed, recorded).enumerated().first { $1.0 != $1.1 }?.offset
                ?? min(replayed.count, recorded.count)
            func line(_ lines: [ArraySlice<UInt8>]) -> String {
                lines.dropFirst(place).first.map { String(decoding: $0, as: UTF8.self) } ?? "nothing"
            }
            return "event \(place + 1) is \(line(recorded)), but the stage writes \(line(replayed))"
        }
    }
}
