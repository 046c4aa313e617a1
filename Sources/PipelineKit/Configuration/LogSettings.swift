import EventLog

/// How the logs of a pipeline are written and how long they are kept.
package struct LogSettings: PluginSettings, Equatable {
    /// When appended events are forced to the disk.
    package let sync: SyncPolicy
    /// A segment is closed before it grows beyond this size. A larger batch gets a segment of its own.
    package let segmentBytes: Int
    /// A snapshot is taken after at least this many bytes of input, and at a clean stop; nil for no snapshots.
    package let snapshotBytes: Int?
    /// When old segments of the logs are removed; by default never.
    package let retention: RetentionSettings
    /// Where the logs are kept besides the local files; nil for local files alone.
    package let home: HomeSettings?

    /// The name of the home that ``HomeSettings`` describes.
    package static let jetStreamName = "jetstream"

    /// The settings of a file without `log`. With them no acknowledged event is lost.
    package static let standard = LogSettings(sync: .always)
    static let segmentBytesRange = 64 << 10...4 << 30
    static let snapshotBytesRange = 4 << 10...1 << 40
    static let intervalRange = Duration.milliseconds(1)...Duration.seconds(60)

    package init(
        sync: SyncPolicy, segmentBytes: Int = 128 << 20, snapshotBytes: Int? = 64 << 20,
        retention: RetentionSettings = RetentionSettings(), home: HomeSettings? = nil
    ) {
        self.sync = sync
        self.segmentBytes = segmentBytes
        self.snapshotBytes = snapshotBytes
        self.retention = retention
        self.home = home
    }

    package init(from settings: inout SettingsReader) throws(SettingsError) {
        settings.note("sync", "`always`, `never` or `interval DURATION`", default: "\(Self.standard.sync)")
        let policy = try settings.optional("sync") { node throws(Complaint) in try Self.policy(node) }
        sync = policy ?? Self.standard.sync
        segmentBytes = try settings.bytes(
            "segmentBytes", default: Self.standard.segmentBytes, in: Self.segmentBytesRange)
        snapshotBytes = try settings.bytes("snapshotBytes", default: 64 << 20, in: Self.snapshotBytesRange)
        retention = try settings.mapping("retention", as: RetentionSettings.self) ?? RetentionSettings()
        let place = try settings.choice("home", of: ["files", Self.jetStreamName], default: "files")
        home = try HomeSettings.read(place == Self.jetStreamName, from: &settings)
    }

    private static func policy(_ node: SettingsNode) throws(Complaint) -> SyncPolicy {
        let text = try node.text(expecting: "always, interval DURATION or never")
        if text == "always" { return .always }
        if text == "never" { return .never }
        let words = text.split(separator: " ")
        guard words.count == 2, words[0] == "interval" else {
            throw Complaint("expected always, interval DURATION or never, found \(text)")
        }
        let amount = try Quantities.microseconds.amount(of: String(words[1]))
        return .interval(try Duration.microseconds(amount).checked(in: intervalRange, \.settingsText))
    }
}
