import EventLog

/// How the logs of a pipeline are written.
public struct LogSettings: PluginSettings, Equatable {
    public let sync: SyncPolicy
    public let segmentBytes: Int

    /// What a file without `log` gets: nothing acknowledged is lost.
    public static let standard = LogSettings(sync: .always, segmentBytes: 128 << 20)
    static let segmentBytesRange = 64 << 10...4 << 30
    static let intervalRange = Duration.milliseconds(1)...Duration.seconds(60)

    public init(sync: SyncPolicy, segmentBytes: Int = 128 << 20) {
        self.sync = sync
        self.segmentBytes = segmentBytes
    }

    public init(from settings: inout SettingsReader) throws(SettingsError) {
        let policy = try settings.optional("sync") { node throws(Complaint) in try Self.policy(node) }
        sync = policy ?? Self.standard.sync
        segmentBytes = try settings.bytes(
            "segmentBytes", default: Self.standard.segmentBytes, in: Self.segmentBytesRange)
    }

    private static func policy(_ node: SettingsNode) throws(Complaint) -> SyncPolicy {
        let text = try node.text("always, interval DURATION or never")
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
