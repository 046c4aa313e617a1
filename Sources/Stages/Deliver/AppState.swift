import JSON
import PipelineKit
import Time

/// An app at a transport. All its pushes are stopped and resumed together.
struct AppKey: Hashable, Comparable {
    var transport: String
    var app: Delivery.App

    static func == (left: AppKey, right: AppKey) -> Bool { left.texts == right.texts }

    func hash(into hasher: inout Hasher) { hasher.combine(texts) }

    static func < (left: AppKey, right: AppKey) -> Bool { left.texts.lexicographicallyPrecedes(right.texts) }

    private var texts: [ExactText] {
        [transport, app.container, app.environment, app.topic ?? ""].map { ExactText($0) }
    }

    /// The app's name in messages to the operator: container, environment and topic.
    var appText: String { [app.container, app.environment, app.topic].compactMap(\.self).joined(separator: " ") }
}

/// What deliver knows about an app at its transport.
struct AppState {
    /// Whether the transport has accepted a push of the app since the transport's settings last changed.
    var hasAccepted = false
    var hold: AppHold?
    /// The number of scheduled ``Effect/hold(app:status:reason:wasProbe:)`` effects of the app.
    var scheduledHolds = 0
    /// At most ``suspectsMax`` devices whose addresses the transport does not know. They are not retired yet, because
    /// the configuration may be wrong instead. The list is emptied when the transport accepts a push of the app. If
    /// this push went to a suspect, the transport had rejected a valid address, so no suspect is retired. Otherwise all
    /// suspects are retired.
    var suspects: [Retirement] = []

    /// With this many suspects, the configuration is probably wrong, not the addresses of the devices.
    static let suspectsMax = 20

    /// Whether the state stays the same when the transport accepts one more push.
    @inline(__always)
    var isHealthy: Bool { hasAccepted && hold == nil && scheduledHolds == 0 && suspects.isEmpty }

    var seemsMisconfigured: Bool { !hasAccepted && suspects.count >= AppState.suspectsMax }
}

/// A stopped app: its pushes wait, and from time to time one of them is sent as a probe.
struct AppHold: Equatable {
    static let firstInterval = Duration.seconds(60)
    static let intervalMax = Duration.seconds(3600)

    var probeAt: Instant
    var interval = firstInterval
    /// The push that was sent as a probe and has no answer yet.
    var probe: PendingKey?
    /// Whether there may be a waiting push that can be the next probe. False after a wake has found no such push.
    var hasWaiting = true

    /// When to send the next probe. Nil if ``hasWaiting`` is false, or if a probe has no answer yet.
    var due: Instant? { hasWaiting && probe == nil ? probeAt : nil }

    /// What is tried next, for messages to the operator.
    var nextTry: String {
        if probe != nil { return "one push is being tried" }
        return due.map { "next try at \($0)" } ?? "the next push is tried at once"
    }

    init(at now: Instant) { probeAt = now.advanced(by: Self.firstInterval) }

    /// Schedules the next probe after a failed probe, and doubles the interval up to the limit.
    mutating func postpone(at now: Instant) {
        interval = min(interval * 2, Self.intervalMax)
        (probe, probeAt) = (nil, now.advanced(by: interval))
    }

    /// Records that a push begins to wait.
    mutating func noteArrival(at now: Instant) {
        guard !hasWaiting else { return }
        (hasWaiting, probeAt) = (true, max(probeAt, now.advanced(by: .microseconds(1))))
    }
}

/// All apps that devices have registered for. Each device keeps the index of its app.
struct Apps {
    private var indices: [AppKey: Int] = [:]
    private(set) var keys: [AppKey] = []
    private var states: [AppState] = []
    /// The indices of the stopped apps, sorted by the keys of the apps.
    private(set) var held: [Int] = []

    /// The index of an app. A new app gets the next index.
    mutating func index(of key: AppKey) -> Int {
        if let index = indices[key] { return index }
        indices[key] = states.count
        keys.append(key)
        states.append(AppState())
        return states.count - 1
    }

    @inline(__always)
    subscript(app: Int) -> AppState {
        get { states[app] }
        _modify { yield &states[app] }
    }

    @inline(__always)
    func isHealthy(_ app: Int) -> Bool { states[app].isHealthy }

    @inline(__always)
    func isHeld(_ app: Int) -> Bool { !held.isEmpty && states[app].hold != nil }

    mutating func hold(_ app: Int, _ hold: AppHold) {
        states[app].hold = hold
        held = held.filter { $0 != app } + [app]
        held.sort { keys[$0] < keys[$1] }
    }

    mutating func release(_ app: Int) {
        states[app].hold = nil
        held.removeAll { $0 == app }
    }

    /// When to send the next probe of any app. Nil if no app needs a probe.
    var due: Instant? { held.lazy.compactMap { states[$0].hold?.due }.min() }

    /// The indices of all apps, sorted by the keys of the apps.
    var sortedIndices: [Int] { states.indices.sorted { keys[$0] < keys[$1] } }
}
