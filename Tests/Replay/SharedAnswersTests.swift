import PipelineKit
import Replay
import Testing

/// The answers that the variant of a what-if gets, derived from the recorded stage's answers.
@Suite struct SharedAnswersTests {
    /// The recorded stage gets the answers "in flight" and "accepted". The variant hands out its push either between
    /// these two answers or after both. For example, it does so after both if they came in one batch.
    @Test(arguments: [false, true])
    func `the variant gets the final answer to a push that was in flight`(variantPushesBetween: Bool) throws {
        let recorded = ScriptedAnswers()
        let (baseline, variant) = SharedAnswers.pair(recorded)
        let (recordedPush, variantPush) = (delivery(of: 7), delivery(of: 8))
        recorded.immediate = TransportAnswer(recordedPush.id, .deferred)
        recorded.immediate?.isUnderWay = true
        recorded.later = [TransportAnswer(recordedPush.id, .accepted)]

        _ = try baseline.answer(to: recordedPush)
        var answers: [TransportAnswer?] = []
        if variantPushesBetween { answers.append(try variant.answer(to: variantPush)) }
        _ = try baseline.takeAnswersToEarlierPushes()
        if !variantPushesBetween { answers.append(try variant.answer(to: variantPush)) }
        answers += try variant.takeAnswersToEarlierPushes()

        #expect(answers.map { $0?.id } == [variantPush.id, variantPush.id])
        #expect(answers.map { $0?.isUnderWay } == [true, false])
    }

    private func delivery(of push: UInt64) -> Delivery {
        Delivery(
            id: Delivery.ID(push: push, device: "phone"), transport: "apns",
            line: Array(#"{"notificationID":"n","user":"_alice","device":"phone"}"#.utf8))
    }
}

private final class ScriptedAnswers: AnswerSource {
    var immediate: TransportAnswer?
    var later: [TransportAnswer] = []

    func answer(to delivery: Delivery) -> TransportAnswer? { immediate }
    func takeAnswersToEarlierPushes() -> [TransportAnswer] { later }
}
