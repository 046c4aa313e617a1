import Access
import CloudKitModel
import JSON
import RecordStore
import Time

/// Answers requests. Any number of threads may use it.
final class WebService: Sendable {
    let settings: GatewaySettings
    let store: RecordStore
    let writes: PendingWrites<AppliedRequest>
    let access: AccessControl
    private let barrier: ReadBarrier
    let reads: ReadThreads
    /// For requests that save items whose number is limited for each user (``UserLimits``).
    let turns = UserTurns()
    let ids = IDSource()
    let assets: AssetFolder
    let tickets: AssetTickets
    /// Nil if the settings name no courier.
    let courier: CourierInboxClient?

    init(
        _ settings: GatewaySettings, _ store: RecordStore, _ writes: PendingWrites<AppliedRequest>,
        _ barrier: ReadBarrier, _ access: AccessControl, _ reads: ReadThreads, assets: AssetFolder,
        tickets: AssetTickets
    ) {
        (self.settings, self.store, self.writes) = (settings, store, writes)
        (self.barrier, self.access, self.reads) = (barrier, access, reads)
        (self.assets, self.tickets) = (assets, tickets)
        courier = settings.courier.map(CourierInboxClient.init)
    }

    func answer(_ request: ServiceRequest) async -> ServiceAnswer {
        var notes = RequestNotes()
        var answer: ServiceAnswer
        do throws(ServiceError) { answer = try await self.answer(request, &notes) } catch {
            answer = error.answer(uuid: request.id)
            notes.error = error.code
        }
        answer.notes = notes
        return answer
    }

    private func answer(
        _ request: ServiceRequest, _ notes: inout RequestNotes
    ) async throws(ServiceError) -> ServiceAnswer {
        if request.path == OpenAPIDocument.path { return ServiceAnswer(body: Array(OpenAPIDocument.text.utf8)) }
        if request.path.hasPrefix(Self.assetPath) {
            return try await read(request, for: .client(request.client)) { [self] _ throws(ServiceError) in
                try saveOrReturnAsset(request)
            }
        }
        let path = try ServiceError.ofAccess { () throws(AccessError) in try WebServicesPath(request.path) }
        if path.service == .auth { return try signIn(request, path) }
        let operation = try Operation(path, method: request.method)
        // Only a safeguard: without keys, the gateway does not start at an address that other machines reach. If the
        // key file is removed later, `access` is not open: it refuses every caller.
        guard settings.address.isLoopback || !access.isOpen else {
            throw ServiceError(.accessDenied, "the gateway has no keys; make one with `belfry key create`")
        }
        let caller = try ServiceError.ofAccess { () throws(AccessError) in
            try access.authenticate(AccessRequest(request, path), at: request.now)
        }
        (notes.user, notes.key) = (caller.user, caller.keyName)
        if operation.writes {
            try ServiceError.ofAccess { () throws(AccessError) in _ = try caller.requireWriting() }
        }
        var answer = try await answer(operation, request, Session(caller, request))
        if let token = caller.webToken { answer.headers.append((Self.webTokenHeader, token)) }
        return answer
    }

    /// The only action of the service `auth`.
    static let signInAction = "signin"
    static let webTokenHeader = "X-Apple-CloudKit-Web-Auth-Token"

    private func answer(
        _ operation: Operation, _ request: ServiceRequest, _ session: Session
    ) async throws(ServiceError) -> ServiceAnswer {
        // Reads wait here for the store. A write that makes events does not: it is answered only when these events are
        // in the store. Two writes make no events. `assets/upload` does not read the store, so it does not wait.
        // `notifications/read` reads the user's devices from the store, so it waits.
        if !operation.writes || operation == .notificationsRead { try await waitForStore() }
        // Operations that allow GET do not read the body, so it is checked here. The others check it when they read it.
        if operation.methods.contains("GET") { try RequestBody.check(request.body) }
        let reader = session.reader(request)
        switch operation {
        case .recordsModify: return try await modifyRecords(request, session)
        case .recordsQuery:
            return try await read(request, for: reader) { [self] limit throws(ServiceError) in
                try queryRecords(request, session, limit)
            }
        case .recordsLookup: return try lookUpRecords(request, session)
        case .recordsChanges:
            return try await read(request, for: reader) { [self] limit throws(ServiceError) in
                try changesOfZone(request, session, limit)
            }
        case .changesZone:
            return try await read(request, for: reader) { [self] limit throws(ServiceError) in
                try changesOfZones(request, session, limit)
            }
        case .changesDatabase, .zonesChanges:
            return try await read(request, for: reader) { [self] limit throws(ServiceError) in
                try changesOfDatabase(request, session, operation, limit)
            }
        case .zonesList: return try listZones(session)
        case .zonesLookup: return try lookUpZones(request, session)
        case .zonesModify: return try await modifyZones(request, session)
        case .subscriptionsList:
            return try await read(request, for: reader) { [self] _ throws(ServiceError) in
                try listSubscriptions(session)
            }
        case .subscriptionsLookup: return try lookUpSubscriptions(request, session)
        case .subscriptionsModify: return try await modifySubscriptions(request, session)
        case .tokensCreate: return try await createToken(request, session)
        case .tokensRegister: return try await registerToken(request, session)
        case .usersCaller, .usersCurrent: return try currentUser(session)
        case .assetsUpload: return try createUploadAddresses(request, session)
        case .notificationsChanges: return try await changesOfNotifications(request, session)
        case .notificationsRead: return try await markNotificationsRead(request, session)
        }
    }

    private func read(
        _ request: ServiceRequest, for reader: Reader,
        _ body: @escaping @Sendable (ReadLimit) throws(ServiceError) -> ServiceAnswer
    ) async throws(ServiceError) -> ServiceAnswer {
        try await reads.run(for: reader, whenClientIsGone: request.whenClientIsGone, body)
    }

    func waitForStore() async throws(ServiceError) {
        guard !(await barrier.pass(until: .now + settings.lagMax)) else { return }
        let lag = barrier.lag
        throw ServiceError(
            .tryAgainLater,
            lag > 0 ? "the gateway's store lacks the newest \(lag) changes" : "the gateway cannot reach ingest",
            retryAfter: 1)
    }

    private func signIn(_ request: ServiceRequest, _ path: WebServicesPath) throws(ServiceError) -> ServiceAnswer {
        guard path.action == Self.signInAction else { throw Operation.notFoundError }
        guard request.method == "POST" else { throw .wrongMethod(allowed: ["POST"]) }
        var body = RequestBody()
        let (assertion, keeps) = try body.read(request.body) { json throws(ServiceError) in
            guard let assertion = try json.optionalText("assertion") else { throw .bad("assertion: is required") }
            return (assertion, try json.optionalFlag("keepSignedIn") ?? false)
        }
        let signIn = try ServiceError.ofAccess { () throws(AccessError) in
            try access.signIn(AccessRequest(request, path), assertion: assertion, keepsSignedIn: keeps, at: request.now)
        }
        return .object { json in
            json.append("userRecordName", signIn.user)
            json.append("webAuthToken", signIn.webToken)
            json.append("expires", signIn.expires.rfc3339)
        }
    }
}

/// Who makes a request, and for which database.
struct Session: Sendable {
    let caller: Caller
    let database: DatabaseScope
    /// The device that the client names with `clientId` in the query; nil if it names no device. The device gets no
    /// push for its own changes.
    let device: String?

    init(_ caller: Caller, _ request: ServiceRequest) {
        self.caller = caller
        database = caller.path.database ?? .public
        device = request.parameter("clientId")
    }

    var databaseID: DatabaseID {
        DatabaseID(
            container: caller.path.container, environment: caller.path.environment, scope: database,
            owner: caller.user)
    }

    func reader(_ request: ServiceRequest) -> Reader {
        caller.user.map { .user($0, container: caller.path.container) } ?? .client(request.client)
    }

    /// The user's account, for a request that needs a user.
    func account() throws(ServiceError) -> AccountID {
        AccountID(
            container: caller.path.container, environment: caller.path.environment,
            user: try ServiceError.ofAccess { () throws(AccessError) in try caller.requireUser() })
    }

    /// The ``LineMaker`` for the lines of a write. A write needs a user.
    ///
    /// - Throws: `BAD_REQUEST` if `clientId` in the query is not a valid name of a device; the error of ``account()`` if
    ///   the request has no user.
    func lineMaker(_ ids: IDSource) throws(ServiceError) -> LineMaker {
        try ServiceError.check(clientID: device)
        let user = try account().user
        return LineMaker(
            database: CommandDatabase(
                container: caller.path.container, environment: caller.path.environment, scope: database,
                owner: database == .public ? nil : user),
            origin: Origin(user: user, device: device), newRequestID: ids.newRequestID)
    }
}

extension ServiceError {
    /// - Parameter clientID: The member `clientId` of the query or the body; nil if it is missing.
    static func check(clientID: String?) throws(ServiceError) {
        guard let clientID, !NameRule.device.accepts(clientID) else { return }
        throw .bad("clientId: \(NameRule.device.rule)")
    }

    /// Runs `body`, and throws its error as the error that the client gets.
    static func ofAccess<Result>(_ body: () throws(AccessError) -> Result) throws(ServiceError) -> Result {
        do { return try body() } catch {
            throw ServiceError(
                error.code, error.reason, retryAfter: error.retryAfter, redirectURL: error.redirectURL)
        }
    }
}

extension AccessRequest {
    init(_ request: ServiceRequest, _ path: WebServicesPath) {
        self.init(
            path: request.path, rawQuery: request.query, body: request.body, client: request.client.key,
            knownPath: path, header: request.header)
    }
}

extension Operation {
    static let notFoundError = ServiceError(.notFound, "could not find handler for endpoint")

    /// - Throws: `NOT_FOUND` or `BAD_REQUEST`, in CloudKit's words where they are known.
    init(_ path: WebServicesPath, method: String) throws(ServiceError) {
        guard let operation = Operation(rawValue: path.action), path.service == .database || operation.isOfDevice
        else { throw Self.notFoundError }
        if let database = path.database, !operation.databases.contains(database) {
            throw .bad("endpoint not applicable in the database type '\(database.word)db'")
        }
        guard operation.methods.contains(method) else { throw .wrongMethod(allowed: operation.methods) }
        self = operation
    }
}
