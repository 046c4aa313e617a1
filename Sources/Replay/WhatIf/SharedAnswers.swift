import EventLog
import JSON
import PipelineKit
import PipelineRuntime

/// Answers that the variant of a stage gets because the recorded one got them for the same push.
///
/// A push that both have is answered when the recorded one was. What only the variant pushes is accepted at once. All
/// answers are kept, also the usual ones: a push that is redriven is answered twice, and the second answer must not be
/// taken for the first.
package final class SharedAnswers {
    private struct Kept {
        var number: Int
        var answer: TransportAnswer
    }

    private enum Fresh {
        case toWaiting(PushKey)
        case late(TransportAnswer)
    }

    private var answers: [PushKey: [Kept]] = [:]
    /// Whose answers were given, from number ``forgotten`` on.
    private var given: [PushKey] = []
    private var forgotten = 0
    /// Pushes of the recorded stage that are not answered yet.
    private var asked: [Delivery.ID: PushKey] = [:]
    /// How many there are of each.
    private var open: [PushKey: Int] = [:]
    /// Pushes of the variant that wait for the answers to those.
    private var waiting: [PushKey: [Delivery.ID]] = [:]
    /// What came since the variant was given its own answers, in order.
    private var fresh: [Fresh] = []
    /// Pushes that a transport still had when it answered first: of the recorded stage, and of the variant.
    private var (recordedLate, variantLate): ([Delivery.ID: PushKey], [PushKey: [Delivery.ID]]) = ([:], [:])
    /// The last answers to such pushes, where the variant has not had the first one yet.
    private var lateAnswers: [PushKey: [TransportAnswer]] = [:]

    /// The variant is that far behind the recorded stage at most: older answers are to pushes that it does not have.
    private static let answersMax = 65_536

    package static func pair(_ recorded: any AnswerSource) -> (given: any AnswerSource, taken: any AnswerSource) {
        let shared = SharedAnswers()
        return (Given(shared, recorded), Taken(shared))
    }

    /// A push that is handed out again gets its next answer.
    private func take(_ key: PushKey) -> TransportAnswer? {
        guard let kept = answers[key]?.removeFirst() else { return nil }
        if answers[key]?.isEmpty == true { answers[key] = nil }
        return kept.answer
    }

    private func keep(_ answer: TransportAnswer, _ key: PushKey) {
        answers[key, default: []].append(Kept(number: forgotten + given.count, answer: answer))
        given.append(key)
        if given.count == 2 * SharedAnswers.answersMax { forgetOlder() }
    }

    private func forgetOlder() {
        let end = forgotten + SharedAnswers.answersMax
        for key in given.prefix(SharedAnswers.answersMax) {
            answers[key]?.removeAll { $0.number < end }
            if answers[key]?.isEmpty == true { answers[key] = nil }
        }
        given.removeFirst(SharedAnswers.answersMax)
        forgotten = end
    }

    // MARK: The recorded stage

    private func note(_ answer: TransportAnswer?, to delivery: Delivery) throws {
        guard delivery.id.retired == nil else { return }
        let key = try ComparedPush(delivery.line).key
        guard let answer else {
            asked[delivery.id] = key
            open[key, default: 0] += 1
            return
        }
        recordedLate[delivery.id] = answer.isUnderWay ? key : nil
        keep(answer, key)
    }

    private func noteLater(_ answer: TransportAnswer) {
        if let key = asked.removeValue(forKey: answer.id) {
            open[key] = open[key].flatMap { $0 > 1 ? $0 - 1 : nil }
            recordedLate[answer.id] = answer.isUnderWay ? key : nil
            keep(answer, key)
            if waiting[key] != nil { fresh.append(.toWaiting(key)) }
        } else if let key = recordedLate.removeValue(forKey: answer.id) {
            if lateAnswers.count == SharedAnswers.answersMax { lateAnswers = [:] }
            lateAnswers[key, default: []].append(answer)
            matchLate(key)
        }
    }

    /// Gives the variant a last answer, where it has had the first one and there is a last one.
    private func matchLate(_ key: PushKey) {
        guard let id = variantLate[key]?.first, var answer = lateAnswers[key]?.first else { return }
        variantLate[key] = variantLate[key].flatMap { $0.count > 1 ? Array($0.dropFirst()) : nil }
        lateAnswers[key] = lateAnswers[key].flatMap { $0.count > 1 ? Array($0.dropFirst()) : nil }
        answer.id = id
        fresh.append(.late(answer))
    }

    // MARK: The variant

    private func answer(to delivery: Delivery) throws -> TransportAnswer? {
        let standard = TransportAnswer(delivery.id, .accepted)
        guard !answers.isEmpty || !open.isEmpty, delivery.id.retired == nil else { return standard }
        let key = try ComparedPush(delivery.line).key
        if let answer = take(key, for: delivery.id) { return answer }
        guard open[key] != nil else { return standard }
        waiting[key, default: []].append(delivery.id)
        return nil
    }

    private func takeFresh() -> [TransportAnswer] {
        var taken: [TransportAnswer] = []
        while !fresh.isEmpty {
            let next = fresh
            fresh = []
            taken += next.compactMap(takeFresh)
        }
        return taken
    }

    private func takeFresh(_ fresh: Fresh) -> TransportAnswer? {
        switch fresh {
        case .late(let answer): return answer
        case .toWaiting(let key):
            guard let id = waiting[key]?.removeFirst() else { return nil }
            if waiting[key]?.isEmpty == true { waiting[key] = nil }
            return take(key, for: id)
        }
    }

    private func take(_ key: PushKey, for id: Delivery.ID) -> TransportAnswer? {
        guard var answer = take(key) else { return nil }
        answer.id = id
        if answer.isUnderWay {
            variantLate[key, default: []].append(id)
            matchLate(key)
        }
        return answer
    }

    private final class Given: AnswerSource {
        private let shared: SharedAnswers
        private let recorded: any AnswerSource

        init(_ shared: SharedAnswers, _ recorded: any AnswerSource) {
            (self.shared, self.recorded) = (shared, recorded)
        }

        func skip(through sequence: UInt64) throws { try recorded.skip(through: sequence) }

        func begin(_ header: BatchHeader?) throws { try recorded.begin(header) }

        func answer(to delivery: Delivery) throws -> TransportAnswer? {
            let answer = try recorded.answer(to: delivery)
            try shared.note(answer, to: delivery)
            return answer
        }

        func rest() throws -> [TransportAnswer] {
            let answers = try recorded.rest()
            for answer in answers { shared.noteLater(answer) }
            return answers
        }
    }

    private final class Taken: AnswerSource {
        private let shared: SharedAnswers

        init(_ shared: SharedAnswers) { self.shared = shared }

        func answer(to delivery: Delivery) throws -> TransportAnswer? { try shared.answer(to: delivery) }

        func rest() -> [TransportAnswer] { shared.takeFresh() }
    }
}
