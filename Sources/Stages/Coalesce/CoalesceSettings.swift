import PipelineKit

/// The settings of ``CoalesceStage`` in a pipeline file.
package struct CoalesceSettings: PluginSettings {
    /// The policy that decides how long each notification is held.
    package var policy = PluginChoice(Latest.kind)
    /// How long a notification waits for a newer one to replace it. If the window is zero, the built-in policies hold
    /// no notification.
    ///
    /// The default of one second is enough for the saves of one editing step to arrive, and short enough to feel
    /// immediate.
    package var window = Duration.seconds(1)
    /// The longest wait of a notification, under any policy. The default is ten windows.
    package var maximumDelay = Duration.seconds(10)
    /// How many notifications may be held for one user, in one container and environment.
    package var pendingPerUser = 100
    /// What happens when a user would have more held notifications than `pendingPerUser`.
    package var atLimit = AtLimit.flushOldest

    private static let pendingPerUserRange = 1...1_000_000_000

    /// Earlier versions had one policy and no limit.
    package static let changedDefaults = [
        ChangedDefault("policy", before: Debounce.kind, now: Latest.kind),
        ChangedDefault("pendingPerUser", before: "\(pendingPerUserRange.upperBound)", now: "100"),
    ]

    var times: CoalescingTimes { CoalescingTimes(window: window, maximumDelay: maximumDelay) }
}

extension CoalesceSettings {
    package init(from settings: inout SettingsReader) throws(SettingsError) {
        self.init()
        policy = try settings.plugin("policy", default: Latest.kind)
        window = try settings.duration("window", default: window, in: .zero ... .seconds(3600))
        maximumDelay = try settings.duration("maximumDelay", default: window * 10, in: window ... .seconds(36_000))
        pendingPerUser = try settings.integer("pendingPerUser", default: pendingPerUser, in: Self.pendingPerUserRange)
        atLimit = try settings.choice("atLimit", default: atLimit)
    }
}

/// What happens when a user would have more held notifications than ``CoalesceSettings/pendingPerUser``.
///
/// The event of a notification that leaves early because of the limit has this value as its member `atLimit`.
package enum AtLimit: String, CaseIterable, Sendable, Hashable {
    /// The oldest held notification leaves at once.
    case flushOldest = "flush-oldest"
    /// All held notifications of the user leave at once.
    case flushAll = "flush-all"
    /// The new notification leaves at once.
    case passNewest = "pass-newest"
}
