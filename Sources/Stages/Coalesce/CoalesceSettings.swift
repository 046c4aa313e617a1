import PipelineKit

package struct CoalesceSettings: PluginSettings {
    /// How long each notification is held.
    package var policy: PluginChoice
    /// How long a notification waits for a newer one to replace it; zero: nothing is held.
    ///
    /// One second by default: enough for the saves of one editing step or one batch of an app to arrive, and no
    /// longer than a person would call "at once".
    package var window: Duration
    /// The longest that a notification may be held back by newer ones; ten windows by default.
    package var maximumDelay: Duration
    /// How many notifications may be held for one user, in one container and environment.
    package var pendingPerUser: Int
    package var atLimit: AtLimit

    private static let policy = ChangedDefault("policy", before: Debounce.kind, now: Latest.kind)
    private static let pendingPerUserDefault = 100
    private static let pendingPerUserRange = 1...1_000_000_000

    /// There was one policy, and no limit.
    package static let changedDefaults = [
        policy,
        ChangedDefault(
            "pendingPerUser", before: "\(pendingPerUserRange.upperBound)", now: "\(pendingPerUserDefault)"),
    ]

    package init(
        policy: String = Latest.kind, window: Duration = .seconds(1), maximumDelay: Duration? = nil,
        pendingPerUser: Int? = nil, atLimit: AtLimit = .flushOldest
    ) {
        self.policy = PluginChoice(policy)
        self.window = window
        self.maximumDelay = maximumDelay ?? window * 10
        self.pendingPerUser = pendingPerUser ?? CoalesceSettings.pendingPerUserDefault
        self.atLimit = atLimit
        precondition(self.maximumDelay >= window, "a notification is held for one window at least")
    }

    package init(from settings: inout SettingsReader) throws(SettingsError) {
        policy = try settings.plugin("policy", default: CoalesceSettings.policy.now)
        window = try settings.duration("window", default: .seconds(1), in: .zero ... .seconds(3600))
        maximumDelay = try settings.duration("maximumDelay", default: window * 10, in: window ... .seconds(36_000))
        pendingPerUser = try settings.integer(
            "pendingPerUser", default: CoalesceSettings.pendingPerUserDefault,
            in: CoalesceSettings.pendingPerUserRange)
        atLimit = try settings.choice("atLimit", default: .flushOldest)
    }

    var times: CoalescingTimes { CoalescingTimes(window: window, maximumDelay: maximumDelay) }
}

/// What happens when a user has as many notifications pending as allowed and one more would be held. A notification that
/// leaves because of it says so.
package enum AtLimit: String, CaseIterable, Sendable, Hashable {
    /// The one that the user has waited for longest leaves at once.
    case flushOldest = "flush-oldest"
    /// All that are held for the user leave at once.
    case flushAll = "flush-all"
    /// The new one is not held, and leaves at once.
    case passNewest = "pass-newest"
}
