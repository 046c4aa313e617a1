import PipelineKit
import Time

/// The settings that a stage ran with, in order, for a rebuild or a replay. Each period has the position from which its
/// settings applied.
package struct SettingsPeriods<S: Stage> {
    private struct Period {
        var after: UInt64
        var now: Instant
        var settings: S.Settings
    }

    /// The settings to make the stage with.
    package let first: S.Settings
    private var coming: [Period]

    /// - Parameters:
    ///   - history: The recorded settings; nil to use `settings` throughout.
    ///   - settings: The settings to use if the history has no settings of this kind of stage.
    ///   - position: The last upstream sequence that the stage's state includes; for a source, the last sequence of its
    ///     own log that this state includes. 0 for a new stage.
    /// - Throws: If this build refuses recorded settings.
    package init(
        _ history: SettingsHistory?, else settings: S.Settings, from position: UInt64 = 0
    ) throws(PipelineFileError) {
        var periods: [Period] = []
        if let history {
            for entry in history.entries where entry.kind == S.kind {
                periods.append(Period(after: entry.after, now: entry.now, settings: try history.decode(entry)))
            }
        }
        // The state may lack settings that began exactly at its position. If the state has these settings already,
        // adopting them again changes nothing.
        let past = periods.lastIndex { $0.after < max(position, 1) } ?? periods.startIndex
        first = periods.isEmpty ? settings : periods[past].settings
        coming = Array(periods.dropFirst(past + 1))
    }

    /// The last event before the next settings apply; `UInt64.max` if no other settings follow.
    package var lastEvent: UInt64 { coming.first?.after ?? .max }

    /// The next settings to adopt before an event is fed. Call this until the result is nil.
    package mutating func next(beforeEvent sequence: UInt64) -> S.Settings? { take { sequence > $0.after } }

    /// The next settings to adopt before a recorded wake. Call this until the result is nil.
    package mutating func next(beforeWakeAt now: Instant) -> S.Settings? { take { now > $0.now } }

    private mutating func take(if isDue: (Period) -> Bool) -> S.Settings? {
        guard let period = coming.first, isDue(period) else { return nil }
        return coming.removeFirst().settings
    }
}

extension SettingsHistory {
    fileprivate func decode<Settings: PluginSettings>(_ entry: Entry) throws(PipelineFileError) -> Settings {
        guard let reader = reader(of: entry) else {
            throw PipelineFileError([
                SettingsError(file: path, reason: "the settings of \(entry.kind) are not an object")
            ])
        }
        return try reader.addingDefaults(Settings.changedDefaults, as: \.before).decode(Settings.self)
    }
}
