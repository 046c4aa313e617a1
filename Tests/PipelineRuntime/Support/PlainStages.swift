import Dispatch
import JSON
import PipelineKit
import Synchronization
import Time

/// A source that accepts every event with a whole number `n`.
struct Gate: Stage {
    struct Settings: PluginSettings {
        /// The host uses `door`. The stage reads the key so that it is not reported as unknown.
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

/// Passes every fifth event on. Its own log does not show the count, so after a restart the count must come from a
/// snapshot or from the input.
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

/// Passes every event on and counts the events. Its very first snapshot blocks until a test releases it.
struct Sluggish: Stage {
    struct Settings: PluginSettings { init(from settings: inout SettingsReader) throws(SettingsError) {} }

    static let kind = "sluggish"
    static let snapshotVersion: Int? = 1
    static let firstSnapshot = FirstCallBlock()
    private var count = 0

    init(_ settings: Settings, context: StageContext) throws(SettingsError) {}

    mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {
        count += 1
        out.pass(event)
    }

    func snapshot(into snapshot: inout SnapshotWriter) {
        Sluggish.firstSnapshot.blockFirstCall()
        snapshot.write(count)
    }

    mutating func restore(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        count = try snapshot.integer()
    }
}

/// Blocks the first caller until a test releases it. Other callers are not blocked.
final class FirstCallBlock: Sendable {
    private let state = Mutex((begun: 0, ended: 0))
    private let gate = DispatchSemaphore(value: 0)

    /// Whether a caller is blocked.
    var isBlocking: Bool { state.withLock { $0.begun > 0 && $0.ended == 0 } }
    /// Whether the first caller was blocked and has been released.
    var hasEnded: Bool { state.withLock { $0.ended > 0 } }

    func blockFirstCall() {
        let isFirst = state.withLock { state in
            state.begun += 1
            return state.begun == 1
        }
        guard isFirst else { return }
        gate.wait()
        state.withLock { $0.ended = 1 }
    }

    func release() { gate.signal() }
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
