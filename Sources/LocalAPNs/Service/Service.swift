import Foundation

/// The state and the decisions of APNs, without its sockets. Turns requests and commands into answers and records.
package struct Service {
    package var check: RequestCheck
    package var registry: Registry
    package var script: Script
    package private(set) var streams: Int
    private var deliveries = Deliveries()
    private var seen = RecentValues<UUID, Bool>(countMax: 1_000_000)
    private let clock: @Sendable () -> Int64
    private var clockShift: Int64 = 0

    /// - Parameter clock: Milliseconds since 1970.
    package init(
        _ environment: Environment, registry: Registry, script: [ScriptLine] = [], streams: Int = 1000,
        clock: @escaping @Sendable () -> Int64
    ) {
        check = RequestCheck(environment)
        self.registry = registry
        self.script = Script()
        self.streams = streams
        self.clock = clock
        replaceScript(with: script)
    }

    /// Milliseconds since 1970.
    package var now: Int64 { clock() + clockShift }

    /// Replaces the rules and the quirks. If several lines have quirks, only the last of these lines counts. Quirks
    /// that this line does not name have their defaults.
    package mutating func replaceScript(with lines: [ScriptLine]) {
        var rules: [Script.Rule] = []
        check.quirks = Quirks()
        for line in lines {
            switch line {
            case .rule(let rule): rules.append(rule)
            case .quirks(let quirks): check.quirks = quirks
            }
        }
        script = Script(rules)
    }

    /// What the script does with a request. Only the request's headers need to have arrived.
    ///
    /// - Parameter errors: See ``RequestFacts/errors``.
    package mutating func conduct(
        for request: PushRequest, on connection: ConnectionState, errors: Int
    ) -> Conduct {
        let path = request.header(":path") ?? ""
        let token = path.hasPrefix("/3/device/") ? path.dropFirst(10).lowercased() : nil
        let facts = RequestFacts(
            token: token, topic: request.header("apns-topic") ?? connection.certificate?.topics.first,
            type: request.header("apns-push-type"), connection: connection.number, errors: errors)
        return script.conduct(for: facts, at: now)
    }

    /// - Parameter hasBody: False if the body has not arrived yet.
    package mutating func answer(
        _ request: PushRequest, as conduct: Conduct, on connection: inout ConnectionState, stream: Int,
        hasBody: Bool = true
    ) -> Answer {
        var inspection = Inspection(request)
        let refusal = check.refusal(of: &inspection, on: &connection, by: &registry, at: now, hasBody: hasBody)
        let id = inspection.id ?? Service.makeID()
        var answer = Answer(id: id, isAuthenticated: inspection.isAuthenticated, retryAfter: conduct.retryAfter)
        answer.apply(refusal, conduct)
        if check.environment == .development, answer.status != nil { answer.uniqueID = Service.makeID() }
        if check.quirks.upperCaseIDs { answer.id = id.uppercased() }
        answer.record = record(inspection, answer, connection.number, stream)
        return answer
    }

    private static func makeID() -> String { UUID().uuidString.lowercased() }
}

extension Service {
    private mutating func record(
        _ inspection: Inspection, _ answer: Answer, _ connection: Int, _ stream: Int
    ) -> RecordedRequest {
        let request = inspection.request
        let isRepeat = inspection.id.flatMap { UUID(uuidString: $0) }.map { seen.insert(true, for: $0) != nil } ?? false
        var record = RecordedRequest(
            time: now, connection: connection, stream: stream, status: answer.status, reason: answer.reason,
            ending: answer.ending?.text, id: inspection.id ?? answer.id, uniqueID: answer.uniqueID,
            token: inspection.deviceToken, topic: inspection.topic, headers: Service.recordedHeaders(of: request),
            tokenIssuedAt: inspection.providerToken?.issuedAt, keyID: inspection.providerToken?.key.id,
            body: request.body, isRepeat: isRepeat, warnings: inspection.warnings)
        if answer.status == 200, let push = push(inspection, record.id) { deliver(push, &record) }
        return record
    }

    private static func recordedHeaders(of request: PushRequest) -> [(name: String, value: String)] {
        request.headers.filter { $0.name != "authorization" }.map { ($0.name, $0.value) }
    }

    private func push(_ inspection: Inspection, _ id: String) -> Push? {
        guard let token = inspection.deviceToken, let bundle = inspection.bundle else { return nil }
        let latest = now + Deliveries.storedMilliseconds
        let expiration = inspection.expiration.map { $0 > latest / 1000 ? latest : $0 * 1000 }
        return Push(
            id: id, address: DeviceApp(token: token, bundle: bundle), collapseID: inspection.collapseID,
            expiresAt: expiration ?? latest, mayBeStored: inspection.expiration != 0,
            notice: Notice(payload: inspection.request.body, isBackground: inspection.type == .background))
    }

    private mutating func deliver(_ push: Push, _ record: inout RecordedRequest) {
        let state = registry.devices[push.address.token]?[push.address.bundle]?.state
        let fate = deliveries.deliver(push, isOnline: state != .offline, at: now)
        (record.fate, record.replaced) = (fate.name, fate.replaced)
        record.notice = push.notice
    }
}

extension Service {
    /// Moves the clock, and drops stored pushes that have expired.
    package mutating func moveClock(by milliseconds: Int64) -> [DeliveryEvent] {
        clockShift += milliseconds
        return expire()
    }

    /// Drops stored pushes that have expired.
    package mutating func expire() -> [DeliveryEvent] {
        deliveries.expire(at: now).map { event($0, .expired) }
    }

    /// Adds or changes a device. A device that is active again gets its stored push.
    package mutating func set(_ device: Device) -> [DeliveryEvent] {
        var device = device
        device.since = device.since ?? (device.state == .active ? nil : now)
        registry.set(device)
        guard device.state == .active else { return [] }
        let address = DeviceApp(token: device.token, bundle: device.bundle)
        return deliveries.deliverStoredPush(to: address, at: now).map { [event($0.push, $0.fate)] } ?? []
    }

    package mutating func set(streams: Int) { self.streams = streams }

    private func event(_ push: Push, _ fate: Deliveries.Fate) -> DeliveryEvent {
        DeliveryEvent(
            time: now, id: push.id, token: push.address.token, bundle: push.address.bundle, fate: fate.name,
            replaced: fate.replaced, notice: push.notice)
    }
}

extension Deliveries.Fate {
    var name: String {
        switch self {
        case .shown(let replaced): replaced == nil ? "shown" : "replaced"
        case .stored(let overwritten): overwritten == nil ? "stored" : "overwritten"
        case .dropped: "dropped"
        case .expired: "expired"
        }
    }

    /// The ID of the earlier push that this push replaced, on the device or in the store.
    var replaced: String? {
        switch self {
        case .shown(let id), .stored(let id): id
        case .dropped, .expired: nil
        }
    }
}
