import JSON
import PipelineKit

/// What became of a push at one device, or that there was none.
struct RecordedOutcome {
    let device: ExactText?
    let explanation: Explanation

    var isAccepted: Bool { explanation.code == .transportAccepted }

    init(_ json: JSONValue) {
        let device = json["device"]?.exact
        let transport = json["transport"]?.string ?? ""
        self.device = device
        let name = device?.string ?? ""
        let (code, text): (ExplanationCode, String) =
            switch json["outcome"]?.string {
            case "accepted": (.transportAccepted, "transport \(transport) accepted the push to \(name)")
            case "failed":
                (.transportFailed, "transport \(transport) failed for \(name)\(RecordedOutcome.answer(json))")
            case "excluded_origin": (.originExcluded, "\(name) made the change")
            case "unknown_transport":
                (.transportUnknown, "\(name) registered with transport \(transport), which the pipeline does not have")
            default: (.deviceNone, "the user had no device")
            }
        let details = ["device", "transport", "status", "reason", "attempts"].compactMap { key in
            json.member(key).map { Explanation.Detail(key, $0) }
        }
        explanation = Explanation("deliver", code, text, details)
    }

    private static func answer(_ json: JSONValue) -> String {
        let words = [json["status"]?.int64.map { "\($0)" }, json["reason"]?.string].compactMap { $0 }
        return words.isEmpty ? "" : ": " + words.joined(separator: " ")
    }
}
