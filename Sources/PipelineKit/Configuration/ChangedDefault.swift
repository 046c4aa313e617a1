/// A setting whose default has changed.
///
/// A log records its settings. Since the change, records always contain this setting, so a record without it is older
/// and means the earlier default.
public struct ChangedDefault: Sendable, Hashable {
    /// The setting's key in its plugin's settings.
    public let key: String
    /// What a record without the key means.
    public let before: String
    /// What a pipeline file without the key means.
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
