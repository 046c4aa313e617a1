/// What of a pipeline's logs may be removed: whole segments, the oldest first, and never one that a stage of the
/// pipeline still needs, whatever its age and the log's size.
package struct RetentionSettings: PluginSettings, Equatable {
    /// A segment may go when all its events are older.
    package let age: Duration?
    /// A segment may go while its log is larger.
    package let bytes: Int?
    /// No dead letter goes that is younger, and none for its log's size.
    package let deadLetters: Duration

    /// Whether anything is ever removed.
    package let isOn: Bool

    static let deadLettersStandard = Duration.seconds(30 * 86_400)
    static let durationRange = Duration.seconds(1)...Duration.seconds(36_500 * 86_400)
    static let bytesRange = 64 << 10...1 << 50

    /// Without any of the three, nothing is ever removed; dead letters are kept for 30 days where it is not said.
    package init(age: Duration? = nil, bytes: Int? = nil, deadLetters: Duration? = nil) {
        self.age = age
        self.bytes = bytes
        self.deadLetters = deadLetters ?? RetentionSettings.deadLettersStandard
        isOn = age != nil || bytes != nil || deadLetters != nil
    }

    package init(from settings: inout SettingsReader) throws(SettingsError) {
        self.init(
            age: try settings.optionalDuration("age", in: Self.durationRange),
            bytes: try settings.optionalBytes("bytes", in: Self.bytesRange),
            deadLetters: try settings.optionalDuration("deadLetters", in: Self.durationRange))
    }

    /// The age from which on dead letters go: the floor, or later where all logs are kept longer.
    package var deadLettersAge: Duration { max(deadLetters, age ?? deadLetters) }
}
