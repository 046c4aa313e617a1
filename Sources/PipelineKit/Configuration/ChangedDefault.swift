/// A setting whose default has changed.
///
/// The settings of a stage are recorded beside its log. Settings that were recorded after the change always contain
/// this setting. So recorded settings without it are older, and the earlier default applied to them.
public struct ChangedDefault: Sendable, Hashable {
    /// The setting's key in the settings of the stage.
    public let key: String
    /// The earlier default. It applies to recorded settings without the key.
    public let before: String
    /// The current default. It applies to a pipeline file without the key.
    public let now: String

    /// Both defaults are written as in a pipeline file.
    public init(_ key: String, before: String, now: String) {
        self.key = key
        self.before = before
        self.now = now
    }
}

extension SettingsReader {
    /// A copy of the settings in which no setting of `defaults` is missing. `meaning` chooses the value of a missing
    /// setting: its earlier or its current default.
    package func addingDefaults(
        _ defaults: [ChangedDefault], as meaning: (ChangedDefault) -> String
    ) -> SettingsReader {
        defaults.filter { !contains($0.key) }.reduce(self) { $0.setting([$1.key], to: meaning($1)) }
    }
}
