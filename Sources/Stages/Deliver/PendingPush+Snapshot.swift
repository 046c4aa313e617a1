import PipelineKit
import Time

extension PendingPushes {
    var inOrder: [PendingPush] { byKey.values.sorted { $0.key < $1.key } }
}

extension PendingPush {
    func write(into snapshot: inout SnapshotWriter) {
        snapshot.write(push)
        device.writeWhole(into: &snapshot)
        snapshot.write(id.high)
        snapshot.write(id.low)
        outcome.write(into: &snapshot)
        snapshot.write(head)
        snapshot.write(rest)
        snapshot.write(unpruned) { $1.write($0) }
        snapshot.write(arrived)
        snapshot.write(lastHandedOut)
        snapshot.write(attempts)
        snapshot.write(mayRepeat)
        snapshot.write(isStillAtTransport)
        snapshot.write(awaitsAnswer)
        snapshot.write(superseder) { $1.write($0) }
        snapshot.write(status) { $1.write($0) }
        snapshot.write(reason) { $1.write($0) }
        snapshot.write(due) { $1.write($0) }
        snapshot.write(isHeld)
    }

    init(
        from snapshot: inout SnapshotReader, _ registry: inout DeviceRegistry
    ) throws(SnapshotError) {
        push = try snapshot.number()
        device = try registry.device(from: &snapshot)
        id = PositionID(high: try snapshot.number(), low: try snapshot.number())
        outcome = try OutcomeText(from: &snapshot)
        (head, rest) = (try snapshot.array(), try snapshot.array())
        unpruned = try snapshot.optional { snapshot throws(SnapshotError) in try snapshot.array() }
        headers = PushHeaders(head: head, rest: rest)
        (arrived, lastHandedOut) = (try snapshot.instant(), try snapshot.instant())
        attempts = try snapshot.attempts()
        mayRepeat = try snapshot.flag()
        isStillAtTransport = try snapshot.flag()
        awaitsAnswer = try snapshot.flag()
        superseder = try snapshot.optional { snapshot throws(SnapshotError) in try snapshot.number() }
        status = try snapshot.optional { snapshot throws(SnapshotError) in try snapshot.integer() }
        reason = try snapshot.optional { snapshot throws(SnapshotError) in try snapshot.text() }
        due = try snapshot.optional { snapshot throws(SnapshotError) in try snapshot.instant() }
        isHeld = try snapshot.flag()
    }
}

extension SnapshotReader {
    fileprivate mutating func attempts() throws(SnapshotError) -> Int {
        let count = try integer()
        guard (0...Int(Int32.max)).contains(count) else { throw error("the number of attempts is out of range") }
        return count
    }
}

// MARK: - Apps

extension AppKey {
    func write(into snapshot: inout SnapshotWriter) {
        snapshot.write(transport)
        snapshot.write(app.container)
        snapshot.write(app.environment)
        snapshot.write(app.topic) { $1.write($0) }
    }

    init(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        transport = try snapshot.text()
        app = Delivery.App(
            container: try snapshot.text(), environment: try snapshot.text(),
            topic: try snapshot.optional { snapshot throws(SnapshotError) in try snapshot.text() })
    }
}

extension AppState {
    /// Whether the state equals the state of a new app. A snapshot leaves out such a state.
    var isInitial: Bool { !hasAccepted && hold == nil && scheduledHolds == 0 && suspects.isEmpty }

    /// Forgets what the transport answered under its earlier settings.
    mutating func forgetAnswers() { (hasAccepted, suspects) = (false, []) }

    func write(into snapshot: inout SnapshotWriter) {
        snapshot.write(hasAccepted)
        snapshot.write(scheduledHolds)
        snapshot.write(hold) { hold, snapshot in
            snapshot.write(hold.probeAt)
            snapshot.write(Int(hold.interval.components.seconds))
            snapshot.write(hold.hasWaiting)
            snapshot.write(hold.probe) { $0.write(into: &$1) }
        }
        snapshot.write(all: suspects) { $0.write(into: &$1) }
    }

    static func read(
        _ app: Int, of registry: inout DeviceRegistry, from snapshot: inout SnapshotReader
    ) throws(SnapshotError) {
        registry.apps[app].hasAccepted = try snapshot.flag()
        registry.apps[app].scheduledHolds = max(0, try snapshot.integer())
        let hold = try snapshot.optional { snapshot throws(SnapshotError) in try AppHold(from: &snapshot) }
        if let hold { registry.apps.hold(app, hold) }
        var suspects: [Retirement] = []
        for _ in 0..<(try snapshot.count(bytesEach: 8)) {
            suspects.append(try Retirement(from: &snapshot, &registry))
        }
        registry.apps[app].suspects = suspects
    }
}

extension AppHold {
    fileprivate init(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        self.init(at: .epoch)
        probeAt = try snapshot.instant()
        let seconds = try snapshot.integer()
        guard (1...Int(Self.intervalMax.components.seconds)).contains(seconds) else {
            throw snapshot.error("the interval between probes is out of range")
        }
        interval = .seconds(seconds)
        hasWaiting = try snapshot.flag()
        probe = try snapshot.optional { snapshot throws(SnapshotError) in try PendingKey(from: &snapshot) }
    }
}

extension PendingKey {
    /// Writes the key of a push. This format cannot hold the key of a notice.
    func write(into snapshot: inout SnapshotWriter) {
        snapshot.write(push)
        snapshot.write(device.string)
    }

    init(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        self.init(push: try snapshot.number(), device: try snapshot.text())
    }
}

extension Retirement {
    func write(into snapshot: inout SnapshotWriter) {
        device.writeWhole(into: &snapshot)
        snapshot.write(push)
        snapshot.write(status) { $1.write($0) }
        snapshot.write(reason) { $1.write($0) }
        snapshot.write(since)
    }

    init(
        from snapshot: inout SnapshotReader, _ registry: inout DeviceRegistry
    ) throws(SnapshotError) {
        device = try registry.device(from: &snapshot)
        push = try snapshot.number()
        status = try snapshot.optional { snapshot throws(SnapshotError) in try snapshot.integer() }
        reason = try snapshot.optional { snapshot throws(SnapshotError) in try snapshot.text() }
        since = try snapshot.instant()
    }
}

// MARK: - Effects

extension ScheduledEffect {
    func write(_ apps: Apps, into snapshot: inout SnapshotWriter) {
        snapshot.write(due)
        switch effect {
        case .retire(let retirement):
            snapshot.write(0)
            retirement.write(into: &snapshot)
        case .hold(let app, let status, let reason, let wasProbe):
            snapshot.write(1)
            apps.keys[app].write(into: &snapshot)
            snapshot.write(status) { $1.write($0) }
            snapshot.write(reason) { $1.write($0) }
            snapshot.write(wasProbe)
        case .resume(let app):
            snapshot.write(2)
            apps.keys[app].write(into: &snapshot)
        case .resumeAfterSettingsChange(let app):
            snapshot.write(3)
            apps.keys[app].write(into: &snapshot)
        }
    }

    init(
        from snapshot: inout SnapshotReader, _ registry: inout DeviceRegistry
    ) throws(SnapshotError) {
        due = try snapshot.instant()
        switch try snapshot.integer() {
        case 0: effect = .retire(try Retirement(from: &snapshot, &registry))
        case 1:
            let app = registry.apps.index(of: try AppKey(from: &snapshot))
            let status = try snapshot.optional { snapshot throws(SnapshotError) in try snapshot.integer() }
            let reason = try snapshot.optional { snapshot throws(SnapshotError) in try snapshot.text() }
            effect = .hold(app: app, status: status, reason: reason, wasProbe: try snapshot.flag())
        case 2: effect = .resume(app: registry.apps.index(of: try AppKey(from: &snapshot)))
        case 3:
            effect = .resumeAfterSettingsChange(app: registry.apps.index(of: try AppKey(from: &snapshot)))
        default: throw snapshot.error("an effect is unknown")
        }
    }
}
