/// Why a connection was left: an answer, and of which app where it is a matter of that app alone.
struct Cause: Hashable {
    let status: Int
    /// Empty where nobody has told us what it means: servers may think of many.
    let reason: String
    let topic: String?

    init(_ answer: APNsAnswer, _ request: PoolState.Request) {
        status = answer.status
        reason = Treatment.isKnown(answer.reason) ? answer.reason : ""
        topic = answer.reason == "TopicDisallowed" ? request.push.kind.topic : nil
    }

    var text: String { reason.isEmpty ? "status \(status)" : reason }
}
