import CloudKitModel
import Events
import JSON
import RecordStore

/// `tokens/create` and `tokens/register`: the tokens of devices.
extension WebService {
    /// Makes a token, registers a device of the courier with it, and tells the client which address to poll.
    func createToken(_ request: ServiceRequest, _ session: Session) async throws(ServiceError) -> ServiceAnswer {
        guard let courier = settings.courier else {
            throw .bad("this gateway has no courier; the operator can set `courier` under `api` in the pipeline file")
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
    /// token from `tokens/create`. Then nothing is registered, because `tokens/create` has registered a device with it.
    func registerToken(_ request: ServiceRequest, _ session: Session) async throws(ServiceError) -> ServiceAnswer {
        let (_, given, client) = try tokenRequest(request)
        let token = try Self.checked(given)
        if !(try devices(of: session).contains(where: { $0.token == token })) {
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
            let client = try json.optionalText("clientId")
            try ServiceError.check(clientID: client)
            return (environment, try json.optionalText("apnsToken"), client)
        }
    }

    /// Checks that a token has the form that the transport for APNs accepts, and returns it. Tokens from
    /// `tokens/create` have this form too.
    private static func checked(_ token: String?) throws(ServiceError) -> String {
        guard let token else { throw .bad("apnsToken: is required") }
        guard token.wholeMatch(of: /([0-9a-fA-F]{2}){1,256}/) != nil else {
            throw .bad("apnsToken: it is not an even number of hexadecimal digits, 2 to 512")
        }
        return token
    }

    /// Registers a device. If the user would then have more devices than allowed, others are unregistered.
    ///
    /// - Parameter name: The client's name for the device; nil if the token becomes the device's name.
    private func register(
        _ session: Session, name: String?, _ transport: String, _ token: String
    ) async throws(ServiceError) {
        let lineMaker = try session.lineMaker(ids)
        let device = name ?? token
        guard NameRule.device.accepts(device) else {
            throw .bad("apnsToken: it is too long for the name of a device; send a clientId, which becomes the name")
        }
        // The topic of an app is its bundle ID. The name of its container is usually `iCloud.` and the bundle ID.
        let topic = String(lineMaker.database.container.dropFirst("iCloud.".count))
        let registration = lineMaker.make {
            $0.register(device: device, transport: transport, token: token, topic: topic)
        }
        let errors = try await inTurn(of: try session.account()) { () async throws(ServiceError) in
            let others = try devices(of: session).filter { $0.name != device }
            let surplus = surplusDevices(among: others).map { surplus in
                lineMaker.make { $0.unregister(device: surplus.name) }
            }
            // If the registration succeeds but an unregistration fails, the user has a device too many until the next
            // registration.
            return try await write([registration] + surplus, except: [:])
        }
        if let error = errors[0] { throw error }
    }

    /// The devices to unregister when a new device is registered; none if the user may have one more device.
    ///
    /// CloudKit Web Services has no request to unregister a device, so a client cannot make room for a new device. If
    /// the gateway refused the new device, this device would never get notifications. A web page that sends no
    /// `clientId` becomes a new device of the courier whenever it is loaded, so the oldest devices of the courier go
    /// first. If the client of such a device still polls, the courier answers 403, and the client creates a new token.
    private func surplusDevices(among devices: [StoredDevice]) -> ArraySlice<StoredDevice> {
        let count = devices.count - UserLimits.devicesMax + 1
        guard count > 0 else { return [] }
        let oldestFirst = devices.sorted { $0.sequence < $1.sequence }
        let ofCourier = oldestFirst.filter { $0.transport == settings.courierTransport }
        let others = oldestFirst.filter { $0.transport != settings.courierTransport }
        return (ofCourier + others).prefix(min(count, Self.surplusMax))
    }

    /// How many devices one registration unregisters at most.
    private static let surplusMax = 100

    func devices(of session: Session) throws(ServiceError) -> [StoredDevice] {
        let account = try session.account()
        return try ServiceError.ofStore { () throws(RecordStoreError) in try store.devices(of: account) }
    }
}

/// `users/caller` and `users/current`.
extension WebService {
    func currentUser(_ session: Session) throws(ServiceError) -> ServiceAnswer {
        let user = try session.account().user
        return .object { json in json.append("userRecordName", user) }
    }
}
