/// The answer because of which a connection is replaced.
struct ReplacementCause: Hashable {
    let status: Int
    /// Empty for an unknown reason, so that the number of causes stays limited.
    let reason: String
    /// The app's topic, if the answer concerns that app alone.
    let topic: String?

    init(_ answer: APNsAnswer, _ request: PoolState.Request) {
        status = answer.status
        reason = Treatment.isKnown(answer.reason) ? answer.reason : ""
        topic = answer.reason == "TopicDisallowed" ? request.push.kind.topic : nil
    }

    var text: String { reason.isEmpty ? "status \(status)" : reason }
}
