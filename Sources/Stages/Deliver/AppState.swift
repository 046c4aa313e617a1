import PipelineKit
import Time

/// The app at a transport: what stops as one.
struct AppKey: Hashable {
    var transport: String
    var app: Delivery.App

    /// In the order of the texts' bytes.
    static func precedes(_ left: AppKey, _ right: AppKey) -> Bool {
        left.words.lexicographicallyPrecedes(right.words) { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    private var words: [String] { [transport, app.container, app.environment, app.topic ?? ""] }
}

/// What deliver has learnt of an app at its transport.
struct AppState {
    /// Whether its transport accepted a push of it since the transport's settings are what they are.
    var hasAccepted = false
    var hold: AppHold?
    /// Holds that have not begun yet.
    var holdsComing = 0
    /// Devices whose address the other side did not know, before it accepted anything.
    var suspects: [Retirement] = []

    /// More suspects than this, and it is the configuration that is wrong.
    static let suspectsMax = 20

    /// Whether an acceptance is no news.
    @inline(__always)
    var isWell: Bool { hasAccepted && hold == nil && holdsComing == 0 && suspects.isEmpty }

    var isSuspicious: Bool { !hasAccepted && suspects.count >= AppState.suspectsMax }
}

/// An app whose pushes wait until one of them comes through.
struct AppHold: Equatable {
    static let firstInterval = Duration.seconds(60)
    static let lastInterval = Duration.seconds(3600)

    var probeAt: Instant
    var interval = firstInterval
    /// The one push that is out.
    var probe: PendingKey?
    /// Whether there is a push to probe with.
    var hasWaiting = true

    /// When something is to be done.
    var due: Instant? { hasWaiting && probe == nil ? probeAt : nil }

    init(at now: Instant) { probeAt = now.advanced(by: Self.firstInterval) }

    /// After a probe that came to nothing.
    mutating func postpone(at now: Instant) {
        interval = min(interval * 2, Self.lastInterval)
        (probe, probeAt) = (nil, now.advanced(by: interval))
    }

    /// A push begins to wait.
    mutating func noteArrival(at now: Instant) {
        guard !hasWaiting else { return }
        (hasWaiting, probeAt) = (true, max(probeAt, now.advanced(by: .microseconds(1))))
    }
}

/// All apps, by places that devices remember.
struct Apps {
    private var places: [AppKey: Int] = [:]
    private(set) var keys: [AppKey] = []
    private var states: [AppState] = []
    /// The places of those that are held.
    private(set) var held: [Int] = []

    mutating func index(of key: AppKey) -> Int {
        if let place = places[key] { return place }
        places[key] = states.count
        keys.append(key)
        states.append(AppState())
        return states.count - 1
    }

    @inline(__always)
    subscript(place: Int) -> AppState {
        get { states[place] }
        _modify { yield &states[place] }
    }

    @inline(__always)
    func isWell(_ place: Int) -> Bool { states[place].isWell }

    @inline(__always)
    func isHeld(_ place: Int) -> Bool { !held.isEmpty && states[place].hold != nil }

    mutating func hold(_ place: Int, at now: Instant) {
        states[place].hold = AppHold(at: now)
        held = held.filter { $0 != place } + [place]
        held.sort { AppKey.precedes(keys[$0], keys[$1]) }
    }

    mutating func restore(_ hold: AppHold, of place: Int) {
        self.hold(place, at: .epoch)
        states[place].hold = hold
    }

    mutating func release(_ place: Int) {
        states[place].hold = nil
        held.removeAll { $0 == place }
    }

    /// When the first is to be probed.
    var due: Instant? { held.lazy.compactMap { states[$0].hold?.due }.min() }

    /// In the order of their names.
    var placesInOrder: [Int] { states.indices.sorted { AppKey.precedes(keys[$0], keys[$1]) } }
}
