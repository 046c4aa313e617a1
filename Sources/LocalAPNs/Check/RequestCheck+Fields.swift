/// Checks the headers with the push's ID, expiration, priority, type and collapse ID.
extension RequestCheck {
    func checkFields(_ inspection: inout Inspection) throws(Refusal) {
        let request = inspection.request
        if let id = request.header("apns-id") {
            guard CanonicalUUID.matches(id) else { throw .bad("BadMessageId") }
            inspection.id = id
        }
        try checkExpiration(request, &inspection)
        let priority = try priority(of: request)
        inspection.type = try pushType(of: request, &inspection)
        guard inspection.type != .background || priority == "5" else { throw .bad("BadPriority") }
        inspection.collapseID = request.header("apns-collapse-id")
        guard (inspection.collapseID ?? "").utf8.count <= 64 else { throw .bad("BadCollapseId") }
    }

    private func checkExpiration(_ request: PushRequest, _ inspection: inout Inspection) throws(Refusal) {
        guard let text = request.header("apns-expiration") else { return }
        guard let seconds = WholeNumber.value(of: text) else { throw .bad("BadExpirationDate") }
        inspection.expiration = seconds
    }

    private func priority(of request: PushRequest) throws(Refusal) -> String? {
        guard let text = request.header("apns-priority") else { return nil }
        guard ["1", "5", "10"].contains(text) else { throw .bad("BadPriority") }
        return text
    }

    private func pushType(of request: PushRequest, _ inspection: inout Inspection) throws(Refusal) -> PushType? {
        guard let text = request.header("apns-push-type") else {
            guard quirks.missingPushType == .accept else { throw .bad("MissingPushType") }
            inspection.warnings.append("no apns-push-type: the push may be delayed or dropped")
            return nil
        }
        guard let type = PushType(rawValue: text) else { throw .bad("InvalidPushType") }
        return type
    }
}

/// The form of an `apns-id`: 32 lower-case hex digits in groups of 8, 4, 4, 4 and 12.
enum CanonicalUUID {
    static func matches(_ text: String) -> Bool {
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        return groups.map(\.utf8.count) == [8, 4, 4, 4, 12]
            && groups.joined().allSatisfy { $0.isASCII && $0.isHexDigit && !$0.isUppercase }
    }
}
