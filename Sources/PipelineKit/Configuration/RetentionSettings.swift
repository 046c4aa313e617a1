/// When old segments of a pipeline's logs are removed. Segments are removed whole, the oldest first, and only if
/// neither the log's own stage nor a consumer needs them. The newest segment of a log always stays.
package struct RetentionSettings: PluginSettings, Equatable {
    /// A segment is removed when all its events are older than this; nil for no limit.
    package let age: Duration?
    /// Segments are removed while their log is larger than this; nil for no limit.
    package let bytes: Int?
    /// A dead letter is removed only when it is at least this old. The size of the dead letters' log does not matter.
    package let deadLetters: Duration

    /// Whether anything is ever removed.
    package let isOn: Bool

    static let deadLettersStandard = Duration.seconds(30 * 86_400)
    static let durationRange = Duration.seconds(1)...Duration.seconds(36_500 * 86_400)
    static let bytesRange = 64 << 10...1 << 50

    /// If all three are nil, nothing is removed. Otherwise, if `deadLetters` is nil, dead letters are kept for 30 days,
    /// or for `age` if that is longer.
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

    /// The age at which dead letters are removed: ``deadLetters``, or ``age`` if that is longer.
    package var deadLettersAge: Duration { max(deadLetters, age ?? deadLetters) }
}
