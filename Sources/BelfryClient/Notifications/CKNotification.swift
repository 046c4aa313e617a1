import Foundation

/// What all notifications have. ``RemoteNotification/init(fromRemoteNotificationDictionary:)`` gives one of its
/// subclasses.
///
/// Of this class itself are those that name no query, zone or database.
open class CKNotification: NSObject, RemoteNotification {
    /// What kind of subscription it is of.
    public enum NotificationType: Int, Sendable, BitwiseCopyable {
        /// Not in CloudKit's headers: what its client gives where the payload tells of no kind.
        ///
        /// Source in an earlier language mode does not see it, for there a switch may name CloudKit's four alone.
        @available(swift, introduced: 6)
        case unknown = 0
        case query = 1
        case recordZone = 2
        /// CloudKit had it once, Belfry never.
        case readNotification = 3
        case database = 4
    }

    let content: NotificationContent
    private let formatArgument = FormatArgument()

    init(_ content: NotificationContent) { self.content = content }

    static func read(_ payload: Payload) -> CKNotification? {
        guard let payload = NotificationPayload(payload) else { return nil }
        let content = NotificationContent(payload)
        switch payload.family {
        case .query: return CKQueryNotification(content)
        case .zone: return CKRecordZoneNotification(content)
        case .database: return CKDatabaseNotification(content)
        case nil: return CKNotification(content)
        }
    }

    /// What kind of subscription sent the push.
    open var notificationType: NotificationType { content.type }
    /// One for all pushes of one change.
    open var notificationID: ID? { content.notificationID }
    /// Like CloudKit's client, "Unknown Container" where the payload names none.
    open var containerIdentifier: String? { content.containerIdentifier }
    /// The user who saved the subscription, and whose devices are told.
    open var subscriptionOwnerUserRecordID: CKRecord.ID? { content.ownerRecordID }
    /// Nil only in a payload that Belfry did not make.
    open var subscriptionID: CKSubscription.ID? { content.subscriptionID }
    /// Whether something was left out because the payload would have been too long.
    open var isPruned: Bool { content.isPruned }

    /// The text of the alert.
    open var alertBody: String? { content.alert.body }
    /// The key of the alert's text in the app's `Localizable.strings`.
    open var alertLocalizationKey: String? { content.alert.localizationKey }
    /// The values that the record's fields had.
    open var alertLocalizationArgs: [String]? { content.alert.localizationArgs }
    /// The title of the alert.
    open var title: String? { content.alert.title }
    /// The key of the title in the app's `Localizable.strings`.
    open var titleLocalizationKey: String? { content.alert.titleLocalizationKey }
    /// The values that the record's fields had, for the title.
    open var titleLocalizationArgs: [String]? { content.alert.titleLocalizationArgs }
    /// The subtitle of the alert.
    open var subtitle: String? { content.alert.subtitle }
    /// The key of the subtitle in the app's `Localizable.strings`.
    open var subtitleLocalizationKey: String? { content.alert.subtitleLocalizationKey }
    /// The values that the record's fields had, for the subtitle.
    open var subtitleLocalizationArgs: [String]? { content.alert.subtitleLocalizationArgs }
    /// The key of the action button's title in the app's `Localizable.strings`.
    open var alertActionLocalizationKey: String? { content.alert.actionLocalizationKey }
    /// The launch image that the app shows when the user opens the alert.
    open var alertLaunchImage: String? { content.alert.launchImage }
    /// The sound file in the app, or `default`.
    open var soundName: String? { content.alert.soundName }
    /// The number on the app's icon.
    open var badge: NSNumber? { content.alert.badge }
    /// The category whose actions the alert offers.
    open var category: String? { content.alert.category }

    /// Two are equal if they tell one subscription's user of one thing, pruned or both not.
    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKNotification else { return false }
        guard let notificationID, let otherID = other.notificationID else { return self === other }
        return notificationID.isEqual(otherID) && notificationType == other.notificationType
            && subscriptionID.hasSameBytes(as: other.subscriptionID) && isPruned == other.isPruned
    }

    open override var hash: Int { notificationID?.hash ?? super.hash }

    open override var description: String {
        "<\(type(of: self)) \(notificationID?.description ?? "") of subscription \(subscriptionID ?? ""), "
            + "\(details)\(isPruned ? ", pruned" : "")>"
    }

    var details: String { "of no known kind" }
}

extension CKNotification: CVarArg {
    public var _cVarArgEncoding: [Int] { formatArgument.encoding(of: description) }
}
