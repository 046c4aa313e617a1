import PipelineKit
import Time

/// The settings that a stage ran with, each from where on, so that its past is fed to it as it was.
package struct SettingsPeriods<S: Stage> {
    private struct Epoch {
        var after: UInt64
        var now: Instant
        var settings: S.Settings
    }

    /// Those to make the stage with.
    package let first: S.Settings
    private var coming: [Epoch]

    /// - Parameters:
    ///   - history: Nil where nothing is known of it.
    ///   - settings: What counts where the log says nothing.
    ///   - position: The last upstream sequence that the stage's state includes already; 0 where it begins anew.
    /// - Throws: Where a recorded entry is refused by this build.
    package init(
        _ history: SettingsHistory?, else settings: S.Settings, from position: UInt64 = 0
    ) throws(PipelineFileError) {
        var epochs: [Epoch] = []
        if let history {
            for entry in history.entries where entry.kind == S.kind {
                epochs.append(Epoch(after: entry.after, now: entry.now, settings: try history.decode(entry)))
            }
        }
        // One that began just there may not be in the state yet; to adopt it again changes nothing.
        let past = epochs.lastIndex { $0.after < max(position, 1) } ?? epochs.startIndex
        first = epochs.isEmpty ? settings : epochs[past].settings
        coming = Array(epochs.dropFirst(past + 1))
    }

    /// The last event that is fed under the settings as they are; `UInt64.max` where they stay.
    package var lastEvent: UInt64 { coming.first?.after ?? .max }

    /// The settings to adopt before an event is fed; nil where they stay. Ask until it is nil.
    package mutating func next(beforeEvent sequence: UInt64) -> S.Settings? { take { sequence > $0.after } }

    /// The settings to adopt before a wake that the log records; nil where they stay. Ask until it is nil.
    package mutating func next(beforeWakeAt now: Instant) -> S.Settings? { take { now > $0.now } }

    private mutating func take(if isDue: (Epoch) -> Bool) -> S.Settings? {
        guard let epoch = coming.first, isDue(epoch) else { return nil }
        return coming.removeFirst().settings
    }
}

extension SettingsHistory {
    fileprivate func decode<Settings: PluginSettings>(_ entry: Entry) throws(PipelineFileError) -> Settings {
        guard let reader = reader(of: entry) else {
            throw PipelineFileError([SettingsError(file: path, reason: "settings of \(entry.kind) that are no object")])
        }
        return try reader.spelt(Settings.changedDefaults, as: \.before).decode(Settings.self)
    }
}
