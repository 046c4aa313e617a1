/// The values of `apns-push-type`, and the rules for pushes of each type (Sending notification requests to APNs).
package enum PushType: String, Sendable, CaseIterable {
    case alert, background, voip, complication, controls, fileprovider, liveactivity, location, mdm, pushtotalk, widgets

    /// The suffix that follows the bundle ID in topics of this type; empty for types without a suffix.
    package var suffix: String {
        switch self {
        case .alert, .background, .mdm: ""
        case .voip: ".voip"
        case .complication: ".complication"
        case .controls: ".push-type.controls"
        case .fileprovider: ".pushkit.fileprovider"
        case .liveactivity: ".push-type.liveactivity"
        case .location: ".location-query"
        case .pushtotalk: ".voip-ptt"
        case .widgets: ".push-type.widgets"
        }
    }

    /// Whether a push of this type needs a provider token. A provider with a certificate cannot send it.
    package var needsProviderToken: Bool { self == .location || self == .liveactivity }

    package var bodyBytesMax: Int { self == .voip ? 5120 : 4096 }

    /// The bundle ID in a topic of this type. Nil if the topic lacks the suffix of this type, or has the suffix of
    /// another type. For `mdm`, the whole topic is returned.
    package func bundle(of topic: String) -> String? {
        guard self != .mdm else { return topic }
        guard !suffix.isEmpty else { return PushType.suffix(of: topic) == nil ? topic : nil }
        return topic.hasSuffix(suffix) ? String(topic.dropLast(suffix.count)) : nil
    }

    /// The bundle ID in a topic, whatever its suffix.
    package static func bundle(of topic: String) -> String {
        String(topic.dropLast(suffix(of: topic)?.count ?? 0))
    }

    private static func suffix(of topic: String) -> String? {
        allCases.map(\.suffix).first { !$0.isEmpty && topic.hasSuffix($0) }
    }
}
