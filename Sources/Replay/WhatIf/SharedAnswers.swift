import EventLog
import JSON
import PipelineKit
import PipelineRuntime

/// Gives the variant of a stage the same answers that the recorded stage got for the same pushes.
///
/// The variant gets an answer when the recorded stage got it, or at once if the variant sends the push later. A push
/// that only the variant has is accepted at once. Recorded `accepted` answers are stored too, although a push without a
/// stored answer is accepted anyway: a redriven push has several answers, and the variant must get them in the recorded
/// order.
package final class SharedAnswers {
    private struct StoredAnswer {
        var number: Int
        var answer: TransportAnswer
    }

    /// An answer that the variant gets at the end of the current batch.
    private enum LaterAnswer {
        /// The next stored answer for a push that waits.
        case stored(PushKey)
        case final(TransportAnswer)
    }

    private var answers: [PushKey: [StoredAnswer]] = [:]
    /// The keys of the stored answers in order, from number ``droppedCount`` on.
    private var storedKeys: [PushKey] = []
    private var droppedCount = 0
    /// Pushes of the recorded stage that have no answer yet.
    private var unanswered: [Delivery.ID: PushKey] = [:]
    private var unansweredCounts: [PushKey: Int] = [:]
    /// Pushes of the variant that wait for the recorded stage's answer.
    private var waiting: [PushKey: [Delivery.ID]] = [:]
    private var laterAnswers: [LaterAnswer] = []
    /// Pushes of the recorded stage and of the variant that are still in flight according to their first answer.
    private var (recordedInFlight, variantInFlight): ([Delivery.ID: PushKey], [PushKey: [Delivery.ID]]) = ([:], [:])
    /// The recorded stage's final answers to pushes in flight. Each is kept until the variant has the first answer to
    /// the same push. When there are ``answersKept`` such pushes, all these final answers are dropped.
    private var finalAnswers: [PushKey: [TransportAnswer]] = [:]

    /// At least this many of the newest answers are kept. If the variant sends a push so late that its answer is not
    /// kept any more, the push is accepted.
    private static let answersKept = 65_536

    package static func pair(
        _ recorded: any AnswerSource
    ) -> (baseline: any AnswerSource, variant: any AnswerSource) {
        let shared = SharedAnswers()
        return (BaselineAnswers(shared, recorded), VariantAnswers(shared))
    }

    private func store(_ answer: TransportAnswer, _ key: PushKey) {
        answers[key, default: []].append(StoredAnswer(number: droppedCount + storedKeys.count, answer: answer))
        storedKeys.append(key)
        if storedKeys.count == 2 * SharedAnswers.answersKept { dropOlder() }
    }

    private func dropOlder() {
        let end = droppedCount + SharedAnswers.answersKept
        for key in storedKeys.prefix(SharedAnswers.answersKept) {
            answers[key]?.removeAll { $0.number < end }
            if answers[key]?.isEmpty == true { answers[key] = nil }
        }
        storedKeys.removeFirst(SharedAnswers.answersKept)
        droppedCount = end
    }

    // MARK: The recorded stage

    private func note(_ answer: TransportAnswer?, to delivery: Delivery) throws {
        guard delivery.id.retired == nil else { return }
        let key = try ComparedPush(delivery.line).key
        guard let answer else {
            unanswered[delivery.id] = key
            unansweredCounts[key, default: 0] += 1
            return
        }
        recordedInFlight[delivery.id] = answer.isUnderWay ? key : nil
        store(answer, key)
    }

    private func noteLater(_ answer: TransportAnswer) {
        if let key = unanswered.removeValue(forKey: answer.id) {
            unansweredCounts[key] = unansweredCounts[key].flatMap { $0 > 1 ? $0 - 1 : nil }
            recordedInFlight[answer.id] = answer.isUnderWay ? key : nil
            store(answer, key)
            if waiting[key] != nil { laterAnswers.append(.stored(key)) }
        } else if let key = recordedInFlight.removeValue(forKey: answer.id) {
            if finalAnswers.count == SharedAnswers.answersKept { finalAnswers = [:] }
            finalAnswers[key, default: []].append(answer)
            matchFinalAnswer(key)
        }
    }

    /// Gives the variant the final answer to a push, if there is one and the variant has got the first answer.
    private func matchFinalAnswer(_ key: PushKey) {
        guard variantInFlight[key] != nil, var answer = finalAnswers.removeFirst(of: key),
            let id = variantInFlight.removeFirst(of: key)
        else { return }
        answer.id = id
        laterAnswers.append(.final(answer))
    }

    // MARK: The variant

    private func answer(to delivery: Delivery) throws -> TransportAnswer? {
        let standard = TransportAnswer(delivery.id, .accepted)
        guard !answers.isEmpty || !unansweredCounts.isEmpty, delivery.id.retired == nil else { return standard }
        let key = try ComparedPush(delivery.line).key
        if let answer = takeAnswer(of: key, for: delivery.id) { return answer }
        guard unansweredCounts[key] != nil else { return standard }
        waiting[key, default: []].append(delivery.id)
        return nil
    }

    private func takeAnswersToEarlierPushes() -> [TransportAnswer] {
        var taken: [TransportAnswer] = []
        var index = 0
        // Taking an answer may append the push's final answer.
        while index < laterAnswers.count {
            switch laterAnswers[index] {
            case .final(let answer): taken.append(answer)
            case .stored(let key):
                if let id = waiting.removeFirst(of: key), let answer = takeAnswer(of: key, for: id) {
                    taken.append(answer)
                }
            }
            index += 1
        }
        laterAnswers = []
        return taken
    }

    /// Removes and returns the oldest stored answer to a push; nil if no answer is stored. So a push that is sent again
    /// gets its next answer.
    private func takeAnswer(of key: PushKey, for id: Delivery.ID) -> TransportAnswer? {
        guard var answer = answers.removeFirst(of: key)?.answer else { return nil }
        answer.id = id
        if answer.isUnderWay {
            variantInFlight[key, default: []].append(id)
            matchFinalAnswer(key)
        }
        return answer
    }

    private final class BaselineAnswers: AnswerSource {
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

        func takeAnswersToEarlierPushes() throws -> [TransportAnswer] {
            let answers = try recorded.takeAnswersToEarlierPushes()
            for answer in answers { shared.noteLater(answer) }
            return answers
        }
    }

    private final class VariantAnswers: AnswerSource {
        private let shared: SharedAnswers

        init(_ shared: SharedAnswers) { self.shared = shared }

        func answer(to delivery: Delivery) throws -> TransportAnswer? { try shared.answer(to: delivery) }

        func takeAnswersToEarlierPushes() -> [TransportAnswer] { shared.takeAnswersToEarlierPushes() }
    }
}

extension Dictionary {
    /// Removes the first element of a key's list. If the list is then empty, removes the key too.
    fileprivate mutating func removeFirst<Item>(of key: Key) -> Item? where Value == [Item] {
        guard let first = self[key]?.removeFirst() else { return nil }
        if self[key]?.isEmpty == true { self[key] = nil }
        return first
    }
}
