import JSON
import PipelineKit
import PipelineRuntime

/// Answers that the variant of a stage gets because the recorded one got them for the same push.
///
/// What only the variant pushes is accepted. All answers are kept, also the usual ones: a push that is redriven is
/// answered twice, and the second answer must not be taken for the first.
final class SharedAnswers {
    private struct Kept {
        var number: Int
        var answer: TransportAnswer
    }

    private var answers: [PushKey: [Kept]] = [:]
    /// Whose answers were given, from number ``forgotten`` on.
    private var given: [PushKey] = []
    private var forgotten = 0

    /// The variant is that far behind the recorded stage at most: older answers are to pushes that it does not have.
    private static let answersMax = 65_536

    static func pair(_ recorded: any AnswerSource) -> (given: any AnswerSource, taken: any AnswerSource) {
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

    private final class Given: AnswerSource {
        private let shared: SharedAnswers
        private let recorded: any AnswerSource

        init(_ shared: SharedAnswers, _ recorded: any AnswerSource) {
            (self.shared, self.recorded) = (shared, recorded)
        }

        func answer(to delivery: Delivery) throws -> TransportAnswer {
            let answer = try recorded.answer(to: delivery)
            if delivery.id.retired == nil { shared.keep(answer, try ComparedPush(delivery.line).key) }
            return answer
        }
    }

    private final class Taken: AnswerSource {
        private let shared: SharedAnswers

        init(_ shared: SharedAnswers) { self.shared = shared }

        func answer(to delivery: Delivery) throws -> TransportAnswer {
            let standard = TransportAnswer(delivery.id, .accepted)
            guard !shared.answers.isEmpty, delivery.id.retired == nil else { return standard }
            guard var answer = shared.take(try ComparedPush(delivery.line).key) else { return standard }
            answer.id = delivery.id
            return answer
        }
    }
}
