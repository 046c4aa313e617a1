import Foundation

/// What all notifications have. ``RemoteNotification/init(fromRemoteNotificationDictionary:)`` gives one of its
/// subclasses.
///
/// Read it where the push came: unlike CloudKit's, it is not `Sendable`.
public class CKNotification: NSObject, RemoteNotification {
    /// What kind of subscription it is of.
    public enum NotificationType: Int, Sendable {
        case query = 1
        case recordZone = 2
        /// CloudKit had it once, Belfry never.
        case readNotification = 3
        case database = 4
    }

    public let notificationType: NotificationType
    /// One for all pushes of one change.
    public let notificationID: ID?
    /// Like CloudKit's client, "Unknown Container" where the payload names none.
    public let containerIdentifier: String?
    /// The user who saved the subscription, and whose devices are told.
    public let subscriptionOwnerUserRecordID: CKRecord.ID?
    /// Nil only in a payload that Belfry did not make.
    public let subscriptionID: CKSubscription.ID?
    /// Whether something was left out because the payload would have been too long.
    public let isPruned: Bool
    let alert: Alert

    init(_ payload: NotificationPayload) {
        notificationType = payload.family.type
        notificationID = payload.ck.text("nid").map(ID.init)
        containerIdentifier = payload.ck.text("cid") ?? "Unknown Container"
        subscriptionOwnerUserRecordID = payload.ck.text("ckuserid").map { CKRecord.ID(recordName: $0) }
        subscriptionID = payload.content.text("sid")
        isPruned = payload.ck.members["p"] != nil
        alert = Alert(payload.aps)
    }

    static func read(_ payload: Payload) -> CKNotification? {
        guard let payload = NotificationPayload(payload) else { return nil }
        switch payload.family {
        case .query: return CKQueryNotification(payload)
        case .zone: return CKRecordZoneNotification(payload)
        case .database: return CKDatabaseNotification(payload)
        }
    }

    /// Two are equal if they tell one subscription's user of one thing, pruned or both not.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKNotification else { return false }
        guard let notificationID, let otherID = other.notificationID else { return self === other }
        return notificationID.isEqual(otherID) && notificationType == other.notificationType
            && subscriptionID.hasSameBytes(as: other.subscriptionID) && isPruned == other.isPruned
    }

    public override var hash: Int { notificationID?.hash ?? super.hash }

    public override var description: String {
        "<\(type(of: self)) \(notificationID?.description ?? "") of subscription \(subscriptionID ?? ""), "
            + "\(details)\(isPruned ? ", pruned" : "")>"
    }

    var details: String { "" }
}

extension CKNotification {
    public var alertBody: String? { alert.body }
    public var alertLocalizationKey: String? { alert.localizationKey }
    /// The values that the record's fields had.
    public var alertLocalizationArgs: [String]? { alert.localizationArgs }
    public var title: String? { alert.title }
    public var titleLocalizationKey: String? { alert.titleLocalizationKey }
    public var titleLocalizationArgs: [String]? { alert.titleLocalizationArgs }
    public var subtitle: String? { alert.subtitle }
    public var subtitleLocalizationKey: String? { alert.subtitleLocalizationKey }
    public var subtitleLocalizationArgs: [String]? { alert.subtitleLocalizationArgs }
    public var alertActionLocalizationKey: String? { alert.actionLocalizationKey }
    public var alertLaunchImage: String? { alert.launchImage }
    public var soundName: String? { alert.soundName }
    public var badge: NSNumber? { alert.badge }
    public var category: String? { alert.category }
}
