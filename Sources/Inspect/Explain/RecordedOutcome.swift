import Events
import JSON
import PipelineKit

/// The explanation of an `outcome` or `attempt` event.
struct RecordedOutcome {
    let sequence: UInt64
    let device: ExactText?
    let explanation: Explanation

    var isAccepted: Bool { explanation.code == .transportAccepted }

    /// False for an attempt: an outcome follows it.
    let isFinal: Bool

    let isRedrive: Bool

    /// - Parameter json: An `outcome` or `attempt` event.
    init(_ json: JSONValue, sequence: UInt64) {
        self.sequence = sequence
        let device = json[.device]?.exact
        let outcome = json[.outcome]?.string ?? ""
        let code = OutcomeCode(rawValue: outcome)
        (self.device, isFinal) = (device, code != nil)
        let (explanationCode, sentence) =
            code.map { RecordedOutcome.outcome($0, json) } ?? RecordedOutcome.attempt(outcome, json)
        isRedrive = json[.redriveOf] != nil
        let mayRepeat = json[.repeatPossible]?.bool ?? false
        let text =
            sentence + (mayRepeat ? "; the device may have got it twice (\(Member.repeatPossible))" : "")
            + (isRedrive ? " (redrive)" : "")
        let details = [
            "device", "transport", "status", "reason", "attempts", "until", "since", "registered", "by",
            Member.repeatPossible.description,
        ].compactMap { key in
            json.member(key).map { Explanation.Detail(key, $0) }
        }
        explanation = Explanation(.outcomes, explanationCode, text, details)
    }

    private static func outcome(_ code: OutcomeCode, _ json: JSONValue) -> (ExplanationCode, String) {
        let (name, transport) = (json[.device]?.string ?? "", json[.transport]?.string ?? "")
        switch code {
        case .accepted: return (.transportAccepted, "transport \(transport) accepted the push to \(name)")
        case .failed: return (.transportFailed, "transport \(transport) failed for \(name)\(answer(json))")
        case .unregistered where json[.answer]?.equals("none") ?? false || isWithdrawal(json):
            let text = "\(name) was unregistered, or registered for another app, while the push waited"
            return (.deviceUnregistered, text)
        case .unregistered: return (.transportUnregistered, "\(name) is no longer registered\(answer(json))")
        case .expired: return (.pushExpired, "the push to \(name) expired\(answer(json))")
        case .superseded:
            let newer = json.natural(.by).map { "push \($0)" } ?? "a newer push"
            return (.pushSuperseded, "\(newer) replaced the push to \(name) while it waited")
        case .excludedOrigin: return (.originExcluded, "\(name) made the change")
        case .unknownTransport:
            let text = "\(name) registered with transport \(transport), which the pipeline does not have"
            return (.transportUnknown, text)
        case .noDevice:
            return (.deviceNone, json[.redriveOf] == nil ? "the user had no device" : "the device was gone")
        }
    }

    /// Whether deliver withdrew the push before it reached the transport.
    private static func isWithdrawal(_ json: JSONValue) -> Bool {
        (json.natural(.tries) ?? json.natural(.attempts)) == 0 && json[.since] == nil
    }

    private static func attempt(_ outcome: String, _ json: JSONValue) -> (ExplanationCode, String) {
        let (name, transport) = (json[.device]?.string ?? "", json[.transport]?.string ?? "")
        guard outcome == "held" else {
            let until = json[.until]?.string.map { " until \($0)" } ?? ""
            return (.pushWaiting, "the push to \(name) was deferred\(until)\(answer(json))\(delay(json))")
        }
        return (.appStopped, "transport \(transport) rejects every push of \(name)'s app\(answer(json))")
    }

    private static func delay(_ json: JSONValue) -> String {
        // The reasons that come with a 5xx (Handling notification responses from APNs).
        let reasons = ["InternalServerError", "ServiceUnavailable", "Shutdown"]
        guard let reason = json[.reason]?.string, reasons.contains(reason) else { return "" }
        return
            " (after a 5xx, \(json[.transport]?.string ?? "") waits about as long as its setting retryAfter5xx says; "
            + "longer after further 5xx, or if APNs asks for it)"
    }

    private static func answer(_ json: JSONValue) -> String {
        [json[.status]?.int64.map { "\($0)" }, json[.reason]?.string].joined().map { ": " + $0 } ?? ""
    }
}
