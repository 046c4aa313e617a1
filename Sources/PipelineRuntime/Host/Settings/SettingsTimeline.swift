import EventLog
import PipelineKit
import Time

/// The settings that a stage ran with in the past, and its settings in the pipeline file.
struct SettingsTimeline<S: Stage> {
    /// The settings in the pipeline file.
    let current: S.Settings
    private var history: SettingsHistory
    private let record: String
    private let keepInHome: @Sendable (String, String) throws(EventLogError) -> Void

    /// If the log has events but no recorded settings, the build that wrote it is older than all changes of defaults.
    /// Then the settings in the pipeline file, with that build's defaults, count as the log's first settings.
    init(_ plan: HostPlan, _ current: S.Settings, _ log: EventLogWriter) throws {
        (self.current, keepInHome) = (current, log.keepingInHome)
        let isNew = log.lastNow == .epoch
        record = plan.settingsRecord
        history = try SettingsHistory(logDirectory: plan.logDirectory)
        let first = isNew ? record : plan.firstSettingsRecord
        if isNew || history.entries.isEmpty {
            try append(.init(after: 0, now: .epoch, kind: S.kind, settings: first))
        }
    }

    /// Whether the settings in the pipeline file differ from the last recorded settings.
    var hasChanged: Bool { history.entries.last.map { $0.settings != record || $0.kind != S.kind } ?? false }

    /// The settings of the past. A stage whose kind takes no snapshots cannot adopt other settings during a rebuild,
    /// so it has the current settings throughout.
    func periods(from position: UInt64) throws -> SettingsPeriods<S> {
        try SettingsPeriods(S.snapshotVersion == nil ? nil : history, else: current, from: position)
    }

    mutating func record(after sequence: UInt64, now: Instant) throws {
        try append(.init(after: sequence, now: now, kind: S.kind, settings: record))
    }

    private mutating func append(_ entry: SettingsHistory.Entry) throws {
        let count = history.entries.count
        try history.append(entry)
        if history.entries.count > count { try keepInHome(SettingsFile.name, history.text) }
    }
}
