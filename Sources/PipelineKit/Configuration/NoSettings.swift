/// The settings of a plugin without settings.
public struct NoSettings: PluginSettings, Hashable {
    /// For tests of a plugin.
    public init() {}

    public init(from settings: inout SettingsReader) throws(SettingsError) {}
}
