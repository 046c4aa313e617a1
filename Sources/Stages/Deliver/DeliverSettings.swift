import JSON
import PipelineKit

/// The settings of ``DeliverStage``: the transports by the names that devices register, and how long pushes wait.
///
///     transports:
///       apns: { use: webhook, url: "https://push.example.com/notes" }
///       console: { use: console }
///     retryFor: 24h
///     pendingMax: 100000
///     retired: { url: "https://example.com/retired", secret: { $file: retired.secret } }
///
/// `use` names the plugin, the other keys are its settings. The default plugin for `retired` is the webhook.
package struct DeliverSettings: PluginSettings {
    /// The transports in the order of the pipeline file. There is at least one.
    package let transports: [TransportBinding]
    /// How long a push is retried after it came. If a transport still has the push at the end of this time, the stage
    /// waits up to five minutes longer for the answer.
    package let retryFor: Duration
    /// The most pushes that may wait at the same time. A push above the limit ends as `failed` with the limit as its
    /// reason.
    package let pendingMax: Int
    /// What happens to a push whose `apns-expiration` has already passed when the push arrives.
    package let expired: Expired
    /// Where a push is sent after it waited.
    package let retryTo: RetryTo
    /// Which tokens devices may register.
    package let tokens: Tokens
    /// The transport that gets a notice of each retired device; nil if the stage sends no notices.
    package let retired: TransportBinding?

    /// The name of ``retired`` among the transports.
    static let retiredName = "retired"

    package enum Expired: String, CaseIterable, Sendable, Hashable {
        /// The push ends as `expired`.
        case drop
        /// The push is sent nevertheless.
        case send
    }

    package enum RetryTo: String, CaseIterable, Sendable, Hashable {
        /// To the device's current registration. If that registration is for another app, the push is not sent: its
        /// payload and badge are for the old app.
        case sameApp = "same-app"
        /// To the device's current registration.
        case latest
        /// To the registration that the device had when the push came.
        case first
    }

    package enum Tokens: String, CaseIterable, Sendable, Hashable {
        /// Only tokens that the transport considers valid. A registration with another token becomes a dead letter.
        case checked
        /// All tokens.
        case any
    }

    private static let expired = ChangedDefault(
        "expired", before: Expired.send.rawValue, now: Expired.drop.rawValue)
    private static let retryTo = ChangedDefault(
        "retryTo", before: RetryTo.first.rawValue, now: RetryTo.sameApp.rawValue)
    private static let tokens = ChangedDefault("tokens", before: Tokens.any.rawValue, now: Tokens.checked.rawValue)

    /// Earlier versions sent expired pushes, retried to the first registration and accepted any token.
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
                retiredName, "a transport also has the name \"\(retiredName)\"",
                hint: "give that transport another name")
        }
        let kind = try reader.string("use", default: "webhook")
        return TransportBinding(name: retiredName, kind: kind, settings: reader)
    }

    private static let example = "write one like apns: { use: file, path: pushes.ndjson }"
}

extension TransportBinding {
    /// A hash of the plugin's name and settings, which shows whether they have changed.
    var fingerprint: UInt64 { FNV.hash("\(kind) \(settings.record())".utf8) }
}
