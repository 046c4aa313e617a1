import Foundation

/// The base class of notifications. ``RemoteNotification/init(fromRemoteNotificationDictionary:)`` makes an instance of
/// a subclass. For a push of unknown kind, it makes an instance of this class.
open class CKNotification: NSObject, RemoteNotification {
    /// The kind of the subscription that sent the push.
    public enum NotificationType: Int, Sendable, BitwiseCopyable {
        /// The payload names no known kind. CloudKit's client returns this value, but its headers do not declare it.
        ///
        /// Code in language modes before Swift 6 does not see this case. There, a `switch` over CloudKit's four cases
        /// is complete.
        @available(swift, introduced: 6)
        case unknown = 0
        case query = 1
        case recordZone = 2
        /// Deprecated by CloudKit; Belfry never sends it.
        case readNotification = 3
        case database = 4
    }

    let content: NotificationContent
    private let formatArgument = FormatArgument()

    init(_ content: NotificationContent) { self.content = content }

    static func read(_ payload: PayloadDictionary) -> CKNotification? {
        guard let content = NotificationContent(payload) else { return nil }
        switch content.kind {
        case .query: return CKQueryNotification(content)
        case .zone: return CKRecordZoneNotification(content)
        case .database: return CKDatabaseNotification(content)
        case nil: return CKNotification(content)
        }
    }

    /// The kind of the subscription that sent the push.
    open var notificationType: NotificationType { content.kind?.type ?? .unknown }
    /// The notification's ID. It comes from the change: all notifications of one change have the same ID, whatever
    /// their subscription or user.
    open var notificationID: ID? { content.notificationID }
    /// The container. If the payload names no container, this is "Unknown Container", as in CloudKit's client.
    open var containerIdentifier: String? { content.containerIdentifier }
    /// The user who saved the subscription and receives its pushes.
    open var subscriptionOwnerUserRecordID: CKRecord.ID? { content.ownerRecordID }
    /// The ID of the subscription. Belfry's payloads always have it.
    open var subscriptionID: CKSubscription.ID? { content.subscriptionID }
    /// Whether data was left out: because the payload would have been too long, or because a field has a type that is
    /// not allowed among the desired keys or the localization arguments.
    open var isPruned: Bool { content.isPruned }

    /// The text of the alert.
    open var alertBody: String? { content.alert.body }
    /// The key of the alert's text in the app's `Localizable.strings`.
    open var alertLocalizationKey: String? { content.alert.localizationKey }
    /// The values of the record's fields that the alert's text shows.
    open var alertLocalizationArgs: [String]? { content.alert.localizationArgs }
    /// The title of the alert.
    open var title: String? { content.alert.title }
    /// The key of the title in the app's `Localizable.strings`.
    open var titleLocalizationKey: String? { content.alert.titleLocalizationKey }
    /// The values of the record's fields that the title shows.
    open var titleLocalizationArgs: [String]? { content.alert.titleLocalizationArgs }
    /// The subtitle of the alert.
    open var subtitle: String? { content.alert.subtitle }
    /// The key of the subtitle in the app's `Localizable.strings`.
    open var subtitleLocalizationKey: String? { content.alert.subtitleLocalizationKey }
    /// The values of the record's fields that the subtitle shows.
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

    /// Two notifications are equal if ID, type, subscription and ``isPruned`` are equal. A notification without an ID
    /// is equal only to itself.
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

    var details: String { "of unknown kind" }
}

extension CKNotification: CVarArg {
    public var _cVarArgEncoding: [Int] { formatArgument.encoding(of: description) }
}
