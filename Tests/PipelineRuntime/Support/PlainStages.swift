import Dispatch
import JSON
import PipelineKit
import Synchronization
import Time

/// A source that accepts every event with a whole number `n`.
struct Gate: Stage {
    struct Settings: PluginSettings {
        init(from settings: inout SettingsReader) throws(SettingsError) { _ = try settings.optionalString("door") }
    }

    static let kind = "gate"
    static let isSource = true
    static let snapshotVersion: Int? = 1

    init(_ settings: Settings, context: StageContext) throws(SettingsError) {}

    func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {
        guard event.json["n"]?.int64 != nil else {
            return out.reject(event, Rejection(code: "n.missing", reason: "\"n\" must be a whole number", path: "n"))
        }
        out.pass(event)
    }

    func snapshot(into snapshot: inout SnapshotWriter) {}
    func restore(from snapshot: inout SnapshotReader) throws(SnapshotError) {}
}

/// Passes every event on, `copies` times.
struct Relay: Stage {
    struct Settings: PluginSettings {
        let copies: Int

        init(from settings: inout SettingsReader) throws(SettingsError) {
            copies = try settings.integer("copies", default: 1, in: 1...100_000)
        }
    }

    static let kind = "relay"
    private let copies: Int

    init(_ settings: Settings, context: StageContext) throws(SettingsError) { copies = settings.copies }

    func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {
        for _ in 0..<copies { out.pass(event) }
    }
}

/// Passes every fifth event on. After a restart, it gets its count only from a snapshot or from its input.
struct Fifth: Stage {
    struct Settings: PluginSettings { init(from settings: inout SettingsReader) throws(SettingsError) {} }

    static let kind = "fifth"
    static let snapshotVersion: Int? = 1
    private var count = 0

    init(_ settings: Settings, context: StageContext) throws(SettingsError) {}

    mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {
        count += 1
        if count % 5 == 0 { out.pass(event) }
    }

    func snapshot(into snapshot: inout SnapshotWriter) { snapshot.write(count) }

    mutating func restore(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        count = try snapshot.integer()
    }
}

/// Counts its events. Its very first snapshot blocks until a test releases it.
struct Sluggish: Stage {
    struct Settings: PluginSettings { init(from settings: inout SettingsReader) throws(SettingsError) {} }

    static let kind = "sluggish"
    static let snapshotVersion: Int? = 1
    static let first = HeldUp()
    private var count = 0

    init(_ settings: Settings, context: StageContext) throws(SettingsError) {}

    mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {
        count += 1
        out.pass(event)
    }

    func snapshot(into snapshot: inout SnapshotWriter) {
        Sluggish.first.take()
        snapshot.write(count)
    }

    mutating func restore(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        count = try snapshot.integer()
    }
}

/// Blocks the first caller only.
final class HeldUp: Sendable {
    private let state = Mutex((begun: 0, ended: 0))
    private let gate = DispatchSemaphore(value: 0)

    /// Whether a caller is blocked.
    var isUnderWay: Bool { state.withLock { $0.begun > 0 && $0.ended == 0 } }
    var isOver: Bool { state.withLock { $0.ended > 0 } }

    func take() {
        let isFirst = state.withLock { state in
            state.begun += 1
            return state.begun == 1
        }
        guard isFirst else { return }
        gate.wait()
        state.withLock { $0.ended = 1 }
    }

    func goOn() { gate.signal() }
}

extension Registry {
    static var plain: Registry {
        var registry = Registry()
        registry.register(Gate.self)
        registry.register(Relay.self)
        registry.register(Fifth.self)
        registry.register(Sluggish.self)
        registry.register(Restless.self)
        return registry
    }
}
