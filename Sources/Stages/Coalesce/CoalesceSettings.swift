import PipelineKit

public struct CoalesceSettings: PluginSettings, Hashable {
    /// How long a notification is held for a newer one to replace it; zero: nothing is held.
    ///
    /// One second by default: enough for the saves of one editing step or one batch of an app to arrive, and no
    /// longer than a person would call "at once".
    public var window: Duration
    /// The longest that a notification may be held back by newer ones; ten windows by default.
    public var maximumDelay: Duration

    public init(window: Duration = .seconds(1), maximumDelay: Duration? = nil) {
        self.window = window
        self.maximumDelay = maximumDelay ?? window * 10
        precondition(self.maximumDelay >= window, "a notification is held for one window at least")
    }

    public init(from settings: inout SettingsReader) throws(SettingsError) {
        window = try settings.duration("window", default: .seconds(1), in: .zero ... .seconds(3600))
        maximumDelay = try settings.duration("maximumDelay", default: window * 10, in: window ... .seconds(36_000))
    }
}
