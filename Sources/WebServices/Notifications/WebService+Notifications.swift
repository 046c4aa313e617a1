import CloudKitModel
import Events
import JSON
import RecordStore

/// `notifications/changes` and `notifications/read`: CKFetchNotificationChangesOperation and
/// CKMarkNotificationsReadOperation, which have no call in CloudKit Web Services. The gateway passes the request to the
/// courier, with the token of one of the user's courier devices.
extension WebService {
    // The courier has this limit for a page, and for the IDs in a request that marks notifications as read. See the
    // manual's page on the courier.
    static let notificationsMax = 400
    // The courier's limit for the body of a request.
    private static let marksBytesMax = 64 << 10

    func changesOfNotifications(_ request: ServiceRequest, _ session: Session) async throws(ServiceError)
        -> ServiceAnswer
    {
        var body = RequestBody()
        let (token, limit) = try body.read(request.body) { json throws(ServiceError) in
            let limit = try json.optionalCount("resultsLimit", atMost: Self.notificationsMax)
            return (try json.optionalText("syncToken"), limit ?? Self.notificationsMax)
        }
        if let token { try Self.check(token) }
        let page = try await askCourier(session) { await $0.changes(of: $1, since: token, limit: limit) }
        return try Self.answer(page) { page, json in
            json.append("notifications", page["notifications"])
            json.append("syncToken", page["serverChangeToken"])
            json.append("moreComing", page["moreComing"])
        }
    }

    func markNotificationsRead(_ request: ServiceRequest, _ session: Session) async throws(ServiceError)
        -> ServiceAnswer
    {
        var body = RequestBody()
        let ids = try body.read(request.body) { json throws(ServiceError) in
            try json.elements("notificationIDs", atMost: Self.notificationsMax).map { id throws(ServiceError) in
                guard let text = id.string else { throw .bad("notificationIDs: expected a list of strings") }
                return text
            }
        }
        let marks = ByteBuffer.object { $0.append("notificationIDs", ids) }
        guard marks.count <= Self.marksBytesMax else {
            throw .bad(
                "notificationIDs: they have \(marks.count) bytes together, but a request may have at most "
                    + "\(Self.marksBytesMax); send several requests")
        }
        let answer = try await askCourier(session) { await $0.markRead(of: $1, Array(marks.bytes)) }
        return try Self.answer(answer) { answer, json in
            json.append("notificationIDs", answer["notificationIDs"])
            json.append("unknown", answer["unknown"])
        }
    }

    /// Asks the courier, with the token of the first of the user's devices that the courier knows. The courier learns
    /// of a device a moment after the device was registered.
    private func askCourier(
        _ session: Session, _ ask: (CourierInboxClient, String) async -> CourierInboxClient.Answer
    ) async throws(ServiceError) -> [UInt8] {
        guard let courier else {
            throw .bad(
                "this gateway has no courier, which stores notifications; the operator can set `courier` under "
                    + "`api` in the pipeline file")
        }
        let tokens = try devices(of: session).filter { $0.transport == settings.courierTransport }.map(\.token)
        guard !tokens.isEmpty else {
            throw .bad("the user has no device that polls the courier; create one with tokens/create")
        }
        for token in tokens {
            switch await ask(courier, token) {
            case .body(let bytes): return bytes
            case .unknownCourierToken: continue
            case .changeTokenExpired:
                throw ServiceError(
                    .changeTokenExpired,
                    "syncToken: it belongs to another log, or is ahead of the courier's log; fetch without a token")
            case .unavailable(let seconds):
                throw ServiceError(
                    .tryAgainLater, "the courier cannot be reached, or is not ready", retryAfter: seconds ?? 1)
            }
        }
        throw ServiceError(.tryAgainLater, "the courier does not know the user's devices yet", retryAfter: 1)
    }

    /// Refuses a token that does not have the form of the courier's change tokens.
    private static func check(_ token: String) throws(ServiceError) {
        guard token.utf8.count <= 200, token.wholeMatch(of: /[0-9A-Za-z]+-[0-9]+-[0-9]+/) != nil,
            token.split(separator: "-").suffix(2).allSatisfy({ Int64($0) != nil })
        else {
            throw .bad("syncToken: this service did not issue it")
        }
    }

    /// - Parameter write: Writes the members of the answer, from the courier's answer.
    private static func answer(
        _ bytes: [UInt8], _ write: (JSONValue, inout ByteBuffer) -> Void
    ) throws(ServiceError) -> ServiceAnswer {
        var parser = JSONParser(limits: JSONLimits(bytesMax: 16 << 20))
        let answer = bytes.withUnsafeBytes { bytes -> ServiceAnswer? in
            do throws(JSONError) {
                let json = try parser.parse(bytes)
                return .object { write(json, &$0) }
            } catch { return nil }
        }
        guard let answer else { throw ServiceError(.tryAgainLater, "the courier's answer is not JSON", retryAfter: 1) }
        return answer
    }
}
