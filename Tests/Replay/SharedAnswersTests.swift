import PipelineKit
import Replay
import Testing

/// What the other world of a what-if gets from the recorded one's answers.
@Suite struct SharedAnswersTests {
    /// A transport may say that it has a push and accept it in one batch, which the recorded stage takes in whole before
    /// the other one is asked.
    @Test(arguments: [false, true]) func aLastAnswerOfTheSameBatchReachesTheOtherWorld(isAskedBetween: Bool) throws {
        let recorded = Script()
        let (given, taken) = SharedAnswers.pair(recorded)
        let (own, others) = (delivery(of: 7), delivery(of: 8))
        recorded.atOnce = TransportAnswer(own.id, .deferred)
        recorded.atOnce?.isUnderWay = true
        recorded.atEnd = [TransportAnswer(own.id, .accepted)]

        _ = try given.answer(to: own)
        var answers: [TransportAnswer?] = []
        if isAskedBetween { answers.append(try taken.answer(to: others)) }
        _ = try given.rest()
        if !isAskedBetween { answers.append(try taken.answer(to: others)) }
        answers += try taken.rest()

        #expect(answers.map { $0?.id } == [others.id, others.id])
        #expect(answers.map { $0?.isUnderWay } == [true, false])
    }

    private func delivery(of push: UInt64) -> Delivery {
        Delivery(
            id: Delivery.ID(push: push, device: "phone"), transport: "apns",
            line: Array(#"{"notificationID":"n","user":"_alice","device":"phone"}"#.utf8))
    }
}

/// Answers that were written down beforehand.
private final class Script: AnswerSource {
    var atOnce: TransportAnswer?
    var atEnd: [TransportAnswer] = []

    func answer(to delivery: Delivery) -> TransportAnswer? { atOnce }
    func rest() -> [TransportAnswer] { atEnd }
}
