import JSON
import PipelineKit
import PipelineRuntime

/// Answers that the variant of a stage gets because the recorded one got them for the same push.
///
/// What only the variant pushes is accepted.
final class SharedAnswers {
    private var answers: [PushKey: [TransportAnswer]] = [:]
    /// More are not waited for: the variant has none of those pushes.
    private static let answersMax = 65_536

    static func pair(_ recorded: any AnswerSource) -> (given: any AnswerSource, taken: any AnswerSource) {
        let shared = SharedAnswers()
        return (Given(shared, recorded), Taken(shared))
    }

    /// A push that is handed out again gets its next answer.
    private func take(_ key: PushKey) -> TransportAnswer? {
        guard let answer = answers[key]?.removeFirst() else { return nil }
        if answers[key]?.isEmpty == true { answers[key] = nil }
        return answer
    }

    private final class Given: AnswerSource {
        private let shared: SharedAnswers
        private let recorded: any AnswerSource

        init(_ shared: SharedAnswers, _ recorded: any AnswerSource) {
            (self.shared, self.recorded) = (shared, recorded)
        }

        func answer(to delivery: Delivery) throws -> TransportAnswer {
            let answer = try recorded.answer(to: delivery)
            guard delivery.id.retired == nil else { return answer }
            if answer.outcome != .accepted || answer.status != nil || answer.attempts != 1 {
                if shared.answers.count >= SharedAnswers.answersMax { shared.answers.removeAll() }
                shared.answers[try ComparedPush(delivery.line).key, default: []].append(answer)
            }
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
            (answer.id, answer.taken) = (delivery.id, nil)
            return answer
        }
    }
}
