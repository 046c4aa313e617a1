import Foundation
import JSON

extension CKSubscription {
    public typealias NotificationInfo = CKNotificationInfo
}

/// What a subscription's pushes show, play and carry.
///
/// Anything but ``shouldSendContentAvailable`` makes a push visual: sent at once, with high priority.
public final class CKNotificationInfo: NSObject, NSCopying, NSSecureCoding {
    public var alertBody: String?
    /// Beats ``alertBody``.
    public var alertLocalizationKey: String?
    /// Fields whose values stand for the variables of the localized text: strings, numbers or dates.
    public var alertLocalizationArgs: [CKRecord.FieldKey]?
    public var title: String?
    /// Beats ``title``.
    public var titleLocalizationKey: String?
    public var titleLocalizationArgs: [CKRecord.FieldKey]?
    public var subtitle: String?
    /// Beats ``subtitle``.
    public var subtitleLocalizationKey: String?
    public var subtitleLocalizationArgs: [CKRecord.FieldKey]?
    public var alertActionLocalizationKey: String?
    public var alertLaunchImage: String?
    /// `default` for the system's sound.
    public var soundName: String?
    /// Fields whose values the push carries: at most three; strings, numbers, places, dates or references.
    public var desiredKeys: [CKRecord.FieldKey]?
    /// Raises the user's badge by one.
    public var shouldBadge = false
    public var shouldSendContentAvailable = false
    public var shouldSendMutableContent = false
    public var category: String?
    /// The `apns-collapse-id` of the pushes, at most 64 bytes.
    public var collapseIDKey: String?

    public override init() {}

    public static var supportsSecureCoding: Bool { true }

    public convenience init?(coder: NSCoder) {
        guard let info = Archive.decode(from: coder, CKNotificationInfo.init(json:)) else { return nil }
        self.init(copying: info)
    }

    public func encode(with coder: NSCoder) { Archive.encode(to: coder, write) }

    public func copy(with zone: NSZone? = nil) -> Any { CKNotificationInfo(copying: self) }

    /// Two are equal if they ask for the same; nothing and an empty list of fields are the same.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKNotificationInfo)?.json.hasSameBytes(as: json) ?? false
    }

    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(bytesOf: json)
        return hasher.finalize()
    }

    public override var description: String { "<CKNotificationInfo \(json)>" }
}

extension CKNotificationInfo {
    public convenience init(
        alertBody: String? = nil,
        alertLocalizationKey: String? = nil,
        alertLocalizationArgs: [CKRecord.FieldKey] = [],
        title: String? = nil,
        titleLocalizationKey: String? = nil,
        titleLocalizationArgs: [CKRecord.FieldKey] = [],
        subtitle: String? = nil,
        subtitleLocalizationKey: String? = nil,
        subtitleLocalizationArgs: [CKRecord.FieldKey] = [],
        alertActionLocalizationKey: String? = nil,
        alertLaunchImage: String? = nil,
        soundName: String? = nil,
        desiredKeys: [CKRecord.FieldKey] = [],
        shouldBadge: Bool = false,
        shouldSendContentAvailable: Bool = false,
        shouldSendMutableContent: Bool = false,
        category: String? = nil,
        collapseIDKey: String? = nil
    ) {
        self.init()
        self.alertBody = alertBody
        self.alertLocalizationKey = alertLocalizationKey
        self.alertLocalizationArgs = alertLocalizationArgs
        self.title = title
        self.titleLocalizationKey = titleLocalizationKey
        self.titleLocalizationArgs = titleLocalizationArgs
        self.subtitle = subtitle
        self.subtitleLocalizationKey = subtitleLocalizationKey
        self.subtitleLocalizationArgs = subtitleLocalizationArgs
        self.alertActionLocalizationKey = alertActionLocalizationKey
        self.alertLaunchImage = alertLaunchImage
        self.soundName = soundName
        self.desiredKeys = desiredKeys
        self.shouldBadge = shouldBadge
        self.shouldSendContentAvailable = shouldSendContentAvailable
        self.shouldSendMutableContent = shouldSendMutableContent
        self.category = category
        self.collapseIDKey = collapseIDKey
    }
}
