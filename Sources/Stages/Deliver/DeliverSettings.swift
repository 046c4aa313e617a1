import JSON
import PipelineKit

/// Settings of ``DeliverStage``: the transports, by the names that devices register with, and how long pushes wait.
///
///     transports:
///       apns: { use: webhook, url: "https://push.example.com/notes" }
///       console: { use: console }
///     retryFor: 24h
///     pendingMax: 100000
///     retired: { url: "https://example.com/retired", secret: { $file: retired.secret } }
///
/// `use` names the plugin; the other keys are the plugin's own. That of `retired` is the webhook where none is named.
package struct DeliverSettings: PluginSettings {
    /// In the order of the file. Never empty.
    package let transports: [TransportBinding]
    /// The longest that a push waits, from when it came.
    package let retryFor: Duration
    /// The most pushes that wait at a time. One more is given up: it ends as `failed`, with the limit as its reason.
    package let pendingMax: Int
    /// What happens to a push whose `apns-expiration` has passed before it was handed out once.
    package let expired: Expired
    /// Where a push that waited is sent.
    package let retryTo: RetryTo
    /// Which tokens devices may register.
    package let tokens: Tokens
    /// Where retired devices are told; nil: they are events only.
    package let retired: TransportBinding?

    /// What ``retired`` is called among the transports.
    static let retiredName = "retired"

    package enum Expired: String, CaseIterable, Sendable, Hashable {
        /// It ends as `expired`.
        case drop
        /// It is handed out all the same.
        case send
    }

    package enum RetryTo: String, CaseIterable, Sendable, Hashable {
        /// To what its device has registered by then, unless that is another app: payload and badge are for the first.
        case sameApp = "same-app"
        /// To what its device has registered by then.
        case latest
        /// To what its device had registered when the push came, whatever became of that.
        case first
    }

    package enum Tokens: String, CaseIterable, Sendable, Hashable {
        /// Those that the transport could send to; others are set aside.
        case checked
        /// All, as they come.
        case any
    }

    private static let expired = ChangedDefault(
        "expired", before: Expired.send.rawValue, now: Expired.drop.rawValue)
    private static let retryTo = ChangedDefault(
        "retryTo", before: RetryTo.first.rawValue, now: RetryTo.sameApp.rawValue)

    private static let tokens = ChangedDefault("tokens", before: Tokens.any.rawValue, now: Tokens.checked.rawValue)

    /// Pushes were handed out whatever their age, and again to where they were handed out first; devices could have any
    /// token.
    package static let changedDefaults = [expired, retryTo, tokens]

    package init(from settings: inout SettingsReader) throws(SettingsError) {
        let named = try settings.mappings("transports")
        guard !named.isEmpty else {
            throw settings.fail("transports", "name at least one transport", hint: Self.example)
        }
        transports = try named.map { name, reader throws(SettingsError) in
            var reader = reader
            guard reader.contains("use") else { throw reader.fail("use", "required", hint: Self.example) }
            return TransportBinding(name: name, kind: try reader.string("use"), settings: reader)
        }
        retryFor = try settings.duration("retryFor", default: .seconds(86_400), in: .zero ... .seconds(30 * 86_400))
        pendingMax = try settings.integer("pendingMax", default: 100_000, in: 0...10_000_000)
        expired = try settings.choice("expired", default: .drop)
        retryTo = try settings.choice("retryTo", default: .sameApp)
        tokens = try settings.choice("tokens", default: .checked)
        retired = try Self.retired(&settings, beside: transports)
    }

    private static func retired(
        _ settings: inout SettingsReader, beside transports: [TransportBinding]
    ) throws(SettingsError) -> TransportBinding? {
        guard var reader = try settings.mapping(retiredName) else { return nil }
        guard !transports.contains(where: { $0.name == retiredName }) else {
            throw settings.fail(
                retiredName, "a transport has this name too", hint: "give the one under transports another name")
        }
        let kind = try reader.string("use", default: "webhook")
        return TransportBinding(name: retiredName, kind: kind, settings: reader)
    }

    private static let example = "write one like apns: { use: file, path: pushes.ndjson }"
}

extension TransportBinding {
    /// Tells two setups of a transport apart.
    var fingerprint: UInt64 { FNV.hash("\(kind) \(settings.record())".utf8) }
}
