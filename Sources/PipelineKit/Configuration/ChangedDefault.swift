/// A setting whose default is no longer what it was.
///
/// A log keeps its settings as the pipeline file had them. Such a one is spelt out in every record that is made since the
/// change, so a record that lacks it is from before, and is read as it was meant then.
public struct ChangedDefault: Sendable, Hashable {
    /// The setting's name among the settings of its plugin.
    public let key: String
    /// What a record without the key means.
    public let before: String
    /// What a pipeline file without the key means.
    public let now: String

    /// Both defaults are written as a pipeline file would have them.
    public init(_ key: String, before: String, now: String) {
        self.key = key
        self.before = before
        self.now = now
    }
}

extension SettingsReader {
    /// The same settings, with those of changed default that are missing as if they were written there.
    package func spelt(_ defaults: [ChangedDefault], as meaning: (ChangedDefault) -> String) -> SettingsReader {
        defaults.filter { !contains($0.key) }.reduce(self) { $0.setting([$1.key], to: meaning($1)) }
    }
}
