import JSON

/// Checks the payload.
extension RequestCheck {
    func checkBody(_ inspection: inout Inspection) throws(Refusal) {
        let request = inspection.request
        guard request.bodyBytes > 0 else { throw .bad("PayloadEmpty") }
        guard request.bodyBytes <= inspection.type?.bodyBytesMax ?? 4096 else {
            throw .answer(status: 413, reason: "PayloadTooLarge")
        }
        let faults = PayloadReview.faults(in: request, of: inspection.type)
        guard faults.isEmpty || quirks.badPayload == .accept else { throw .bad("PayloadEmpty") }
        inspection.warnings += faults
    }
}

/// Finds the faults of a payload: it is not a JSON object, or it does not fit the request's headers. Apple does not
/// document how APNs answers such requests.
enum PayloadReview {
    static func faults(in request: PushRequest, of type: PushType?) -> [String] {
        var parser = JSONParser()
        return request.body.withUnsafeBytes { bytes in
            do throws(JSONError) {
                let body = try parser.parse(bytes)
                guard body.isObject else { return ["the body is not a JSON object"] }
                return faults(in: body["aps"], of: type, priority: request.header("apns-priority"))
            } catch {
                return ["the body is not JSON: \(error)"]
            }
        }
    }

    private static func faults(in aps: JSONValue?, of type: PushType?, priority: String?) -> [String] {
        let isVisible = aps?["alert"] != nil || aps?["badge"] != nil || aps?["sound"] != nil
        let isSilent = aps?["content-available"]?.int64 == 1
        var faults: [String] = []
        if type == .background, isVisible { faults.append("a background push with alert, badge or sound") }
        if type == .background, !isSilent { faults.append("a background push without content-available: 1") }
        guard isSilent, !isVisible else { return faults }
        if type == .alert { faults.append("an alert push that shows nothing") }
        if type != .background, priority == "10" { faults.append("priority 10 for a push that shows nothing") }
        return faults
    }
}
