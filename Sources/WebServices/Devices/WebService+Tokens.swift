import CloudKitModel
import Events
import JSON
import RecordStore

/// `tokens/create` and `tokens/register`: the tokens of devices.
extension WebService {
    /// Makes a token, registers a device of the courier with it, and tells the client which address to poll.
    func createToken(_ request: ServiceRequest, _ session: Session) async throws(ServiceError) -> ServiceAnswer {
        guard let courier = settings.courier else {
            throw .bad("this gateway has no courier; the operator can set `api: courier` in the pipeline file")
        }
        let (environment, _, client) = try tokenRequest(request)
        let token = ids.newCourierToken()
        try await register(session, name: client ?? session.device, settings.courierTransport, token)
        return .object { json in
            json.append("apnsEnvironment", environment)
            json.append("apnsToken", token)
            json.append("webcourierURL", "\(courier)/courier/\(token)")
        }
    }

    /// Registers a device's APNs token, unless a device of the user already has this token. A client may also send a
    /// token from `tokens/create`. The device with this token was registered when the token was made.
    func registerToken(_ request: ServiceRequest, _ session: Session) async throws(ServiceError) -> ServiceAnswer {
        let (_, token, client) = try tokenRequest(request)
        guard let token else { throw .bad("apnsToken: is required") }
        let account = try session.account()
        let devices = try ServiceError.ofStore { () throws(RecordStoreError) in try store.devices(of: account) }
        if !devices.contains(where: { $0.token == token }) {
            try await register(session, name: client ?? session.device, settings.apnsTransport, token)
        }
        return .object { _ in }
    }

    private func tokenRequest(
        _ request: ServiceRequest
    ) throws(ServiceError) -> (environment: String, token: String?, client: String?) {
        var body = RequestBody()
        return try body.read(request.body) { json throws(ServiceError) in
            guard let environment = try json.optionalText("apnsEnvironment") else {
                throw .bad("apnsEnvironment: is required")
            }
            guard ["development", "production"].contains(environment) else {
                throw .bad("apnsEnvironment: '\(environment.prefix(64))' is neither development nor production")
            }
            return (environment, try json.optionalText("apnsToken"), try json.optionalText("clientId"))
        }
    }

    /// - Parameter name: The client's name for the device; nil if the token becomes the device's name.
    private func register(
        _ session: Session, name: String?, _ transport: String, _ token: String
    ) async throws(ServiceError) {
        let lineMaker = try session.lineMaker(ids)
        // The topic of an app is its bundle ID, after which its container is usually named.
        let topic = String(lineMaker.database.container.dropFirst("iCloud.".count))
        let line = lineMaker.make {
            $0.register(device: name ?? token, transport: transport, token: token, topic: topic)
        }
        switch await writes.write([line], until: .now + settings.writeTimeout).first {
        case .stored: return
        case .refused(let refusal) where refusal.path == "device" || refusal.path == "token":
            let member = refusal.path == "device" && name != nil ? "clientId" : "apnsToken"
            throw .bad("\(member): \(refusal.reason)")
        case .refused(let refusal): throw ServiceError(refusal)
        case .unknown, nil: throw .outcomeUnknown
        }
    }
}

/// `users/caller` and `users/current`.
extension WebService {
    func currentUser(_ session: Session) throws(ServiceError) -> ServiceAnswer {
        let user = try session.account().user
        return .object { json in json.append("userRecordName", user) }
    }
}
