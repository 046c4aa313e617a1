/// The settings of a plugin that has nothing to set.
public struct NoSettings: PluginSettings, Hashable {
    /// For a plugin that a test makes.
    public init() {}

    public init(from settings: inout SettingsReader) throws(SettingsError) {}
}
