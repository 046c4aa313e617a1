import PipelineKit
import Time

/// What a host knows of the settings its stage ran with, and of those it is to run with now.
struct SettingsTimeline<S: Stage> {
    let today: S.Settings
    private var history: SettingsHistory
    private let record: String

    /// - Parameter isNew: Whether the log holds nothing yet. One that holds something and says nothing of settings is
    ///   taken to be made under those of the pipeline file, by a build that knew no changed default.
    init(_ plan: HostPlan, _ today: S.Settings, isNew: Bool) throws {
        self.today = today
        record = plan.settingsRecord
        history = try SettingsHistory(logDirectory: plan.logDirectory)
        let first = isNew ? record : plan.firstSettingsRecord
        if isNew || history.entries.isEmpty {
            try history.append(.init(after: 0, now: .epoch, kind: S.kind, settings: first))
        }
    }

    /// Whether the pipeline file has changed since the log was last written to.
    var hasChanged: Bool { history.entries.last.map { $0.settings != record || $0.kind != S.kind } ?? false }

    /// The settings of the past. A stage that takes no snapshots cannot change them on the way: it has today's.
    func epochs(from position: UInt64) throws -> SettingsPeriods<S> {
        try SettingsPeriods(S.snapshotVersion == nil ? nil : history, else: today, from: position)
    }

    /// Puts today's settings on record, from there on.
    mutating func record(after sequence: UInt64, now: Instant) throws {
        try history.append(.init(after: sequence, now: now, kind: S.kind, settings: record))
    }
}
