import JSON
import Time

/// Decides how long coalesce holds a notification for a newer one to replace it.
///
/// Coalesce does the rest: it says which notifications replace each other, lets the newest win, counts what it stands
/// for, keeps to the maximum delay and to the limit of each user, and writes all of it down. So a policy is one
/// question. It answers from its settings and from what it is asked with alone: it has no memory of its own, reads no
/// clock and no random source, and does no I/O. `PipelineTestKit`'s `PolicyCheck` tries whether it does.
///
/// A policy is registered under ``kind`` in a ``Registry``; a pipeline file names it by `policy:`.
public protocol CoalescingPolicy: Sendable {
    associatedtype Settings: PluginSettings

    /// The word a pipeline file names the policy by.
    static var kind: String { get }

    /// Checks only; touches nothing outside.
    init(_ settings: Settings, times: CoalescingTimes) throws(SettingsError)

    /// How long the policy wants to be told when a notification of the same key left last; zero: never.
    var memory: Duration { get }

    /// When a notification leaves that stands for the arrival and for all that it replaces. Now or earlier: at once.
    ///
    /// Asked at each arrival, also for one that is held already. What it says later than the maximum delay allows is
    /// brought forward.
    func due(_ arrival: CoalescingArrival) -> Instant
}

extension CoalescingPolicy {
    public var memory: Duration { .zero }
}

/// The times that a pipeline file sets for coalesce, whatever its policy.
public struct CoalescingTimes: Sendable, Hashable {
    /// How long a notification may wait for a newer one.
    public var window: Duration
    /// How long it may be held back by newer ones; at least the window.
    public var maximumDelay: Duration

    /// Takes the times as they are: the settings that they come from are checked.
    public init(window: Duration, maximumDelay: Duration) {
        self.window = window
        self.maximumDelay = maximumDelay
    }
}

/// A match that may replace another of its key, or be replaced, as it comes.
public struct CoalescingArrival: ~Escapable {
    /// What is held of the same key, and the arrival will replace.
    public struct Held: Sendable, Hashable {
        /// When the first that it stands for came.
        public var since: Instant
        /// When it would leave.
        public var due: Instant
        /// How many changes it stands for.
        public var changes: Int

        /// For tests of a policy; coalesce makes its own.
        public init(since: Instant, due: Instant, changes: Int) {
            self.since = since
            self.due = due
            self.changes = changes
        }
    }

    /// When the match came, by the log's time.
    public var now: Instant
    /// The match as its stage wrote it.
    public var match: JSONView
    /// Nil where nothing of the same key is held.
    public var held: Held?
    /// When the last one of the same key left, where that is not longer ago than ``CoalescingPolicy/memory``.
    public var lastLeft: Instant?

    /// For tests of a policy; coalesce makes its own.
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
    /// - Throws: Where none of that name is registered, with the nearest; where it refuses its settings.
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
