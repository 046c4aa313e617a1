import JSON
import Time

/// Decides how long the coalesce stage holds a notification. During this time a newer notification may replace it.
///
/// The coalesce stage does the rest. It gives the same key to notifications that replace each other, keeps the newest,
/// lists all their changes, and applies the maximum delay and each user's limit. So a policy answers one question, from
/// its settings and the arrival alone. It has no state, reads no clock and no random source, and does no I/O.
/// `PipelineTestKit`'s `PolicyCheck` tests that the same matches always give the same output.
///
/// A policy is registered under ``kind`` in a ``Registry``. A pipeline file names it with `policy:`.
public protocol CoalescingPolicy: Sendable {
    associatedtype Settings: PluginSettings

    /// The policy's name in pipeline files.
    static var kind: String { get }

    /// Checks the settings.
    init(_ settings: Settings, times: CoalescingTimes) throws(SettingsError)

    /// How long ``CoalescingArrival/lastLeft`` is remembered for a key; zero to remember nothing. More than ten
    /// hours counts as ten hours.
    var memory: Duration { get }

    /// The time at which the arrival's notification leaves. A time that is not after the arrival means at once.
    ///
    /// Called at each arrival, even if a notification of the same key is held. The arrival's notification replaces the
    /// held one, and leaves no later than the maximum delay allows. Not called for a notification that no other
    /// notification can replace: it leaves at once.
    func due(_ arrival: CoalescingArrival) -> Instant
}

extension CoalescingPolicy {
    public var memory: Duration { .zero }
}

/// The times in the settings of the coalesce stage, which all policies share.
public struct CoalescingTimes: Sendable, Hashable {
    /// How long a notification waits for a newer one, if the policy uses the window.
    public var window: Duration
    /// The longest wait of a notification, under any policy. It is at least as long as the window.
    public var maximumDelay: Duration

    /// Makes times from values that were checked before.
    public init(window: Duration, maximumDelay: Duration) {
        self.window = window
        self.maximumDelay = maximumDelay
    }
}

/// A match that comes to the coalesce stage, and whose notification may be replaced by a newer one. The notification
/// replaces the held notification of the same key, if there is one.
public struct CoalescingArrival: ~Escapable {
    /// A held notification of the same key, which the arrival will replace.
    public struct Held: Sendable, Hashable {
        /// When the first match of the held notification came, by the log's time.
        public var since: Instant
        /// When the held notification would leave without the arrival.
        public var due: Instant
        /// How many changes the held notification stands for.
        public var changes: Int

        /// For tests of a policy. The coalesce stage makes its own.
        public init(since: Instant, due: Instant, changes: Int) {
            self.since = since
            self.due = due
            self.changes = changes
        }
    }

    /// When the match came, by the log's time.
    public var now: Instant
    /// The match from the upstream stage, with all its members.
    public var match: JSONView
    /// Nil if no notification of the same key is held.
    public var held: Held?
    /// When the last notification of the same key left; nil if none left within ``CoalescingPolicy/memory``.
    public var lastLeft: Instant?

    /// For tests of a policy. The coalesce stage makes its own.
    @_lifetime(copy match)
    public init(now: Instant, match: JSONView, held: Held? = nil, lastLeft: Instant? = nil) {
        self.now = now
        self.match = match
        self.held = held
        self.lastLeft = lastLeft
    }
}

extension Registry {
    /// The policy that a pipeline file chose.
    ///
    /// - Throws: If no policy of that name is registered, or the policy refuses its settings.
    package func policy(_ choice: PluginChoice, times: CoalescingTimes) throws(SettingsError) -> any CoalescingPolicy {
        guard let type = policies[choice.kind] else { throw choice.unknown("policy", known: policies.keys.sorted()) }
        return try Registry.policy(type, choice, times)
    }

    private static func policy<P: CoalescingPolicy>(
        _ type: P.Type, _ choice: PluginChoice, _ times: CoalescingTimes
    ) throws(SettingsError) -> any CoalescingPolicy {
        let settings: P.Settings
        do { settings = try choice.settings.decode(P.Settings.self) } catch { throw error.first }
        return try P(settings, times: times)
    }
}
