import Foundation

/// What all notifications have. ``RemoteNotification/init(fromRemoteNotificationDictionary:)`` gives one of its
/// subclasses.
///
/// Of this class itself are those that name no query, zone or database.
@CKIsolation
public class CKNotification: NSObject, RemoteNotification {
    /// What kind of subscription it is of.
    public enum NotificationType: Int, Sendable, BitwiseCopyable {
        /// Not in CloudKit's headers: what its client gives where the payload tells of no kind.
        case unknown = 0
        case query = 1
        case recordZone = 2
        /// CloudKit had it once, Belfry never.
        case readNotification = 3
        case database = 4
    }

    public nonisolated let notificationType: NotificationType
    /// One for all pushes of one change.
    public nonisolated let notificationID: ID?
    /// Like CloudKit's client, "Unknown Container" where the payload names none.
    public nonisolated let containerIdentifier: String?
    /// The user who saved the subscription, and whose devices are told.
    public nonisolated let subscriptionOwnerUserRecordID: CKRecord.ID?
    /// Nil only in a payload that Belfry did not make.
    public nonisolated let subscriptionID: CKSubscription.ID?
    /// Whether something was left out because the payload would have been too long.
    public nonisolated let isPruned: Bool
    nonisolated let alert: Alert
    private nonisolated let formatArgument = FormatArgument()

    nonisolated init(_ payload: NotificationPayload) {
        notificationType = payload.family?.type ?? .unknown
        notificationID = payload.ck.text("nid").map(ID.init)
        containerIdentifier = payload.ck.text("cid") ?? "Unknown Container"
        subscriptionOwnerUserRecordID = payload.ck.text("ckuserid").map { CKRecord.ID(recordName: $0) }
        subscriptionID = payload.content?.text("sid")
        isPruned = payload.ck.members["p"] != nil
        alert = Alert(payload.aps)
    }

    nonisolated static func read(_ payload: Payload) -> CKNotification? {
        guard let payload = NotificationPayload(payload) else { return nil }
        switch payload.family {
        case .query: return CKQueryNotification(payload)
        case .zone: return CKRecordZoneNotification(payload)
        case .database: return CKDatabaseNotification(payload)
        case nil: return CKNotification(payload)
        }
    }

    /// Two are equal if they tell one subscription's user of one thing, pruned or both not.
    public nonisolated override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKNotification else { return false }
        guard let notificationID, let otherID = other.notificationID else { return self === other }
        return notificationID.isEqual(otherID) && notificationType == other.notificationType
            && subscriptionID.hasSameBytes(as: other.subscriptionID) && isPruned == other.isPruned
    }

    public nonisolated override var hash: Int { notificationID?.hash ?? super.hash }

    public nonisolated override var description: String {
        "<\(type(of: self)) \(notificationID?.description ?? "") of subscription \(subscriptionID ?? ""), "
            + "\(details)\(isPruned ? ", pruned" : "")>"
    }

    nonisolated var details: String { "of no known kind" }
}

extension CKNotification: CVarArg {
    public nonisolated var _cVarArgEncoding: [Int] { formatArgument.encoding(of: description) }
}

extension CKNotification {
    public nonisolated var alertBody: String? { alert.body }
    public nonisolated var alertLocalizationKey: String? { alert.localizationKey }
    /// The values that the record's fields had.
    public nonisolated var alertLocalizationArgs: [String]? { alert.localizationArgs }
    public nonisolated var title: String? { alert.title }
    public nonisolated var titleLocalizationKey: String? { alert.titleLocalizationKey }
    public nonisolated var titleLocalizationArgs: [String]? { alert.titleLocalizationArgs }
    public nonisolated var subtitle: String? { alert.subtitle }
    public nonisolated var subtitleLocalizationKey: String? { alert.subtitleLocalizationKey }
    public nonisolated var subtitleLocalizationArgs: [String]? { alert.subtitleLocalizationArgs }
    public nonisolated var alertActionLocalizationKey: String? { alert.actionLocalizationKey }
    public nonisolated var alertLaunchImage: String? { alert.launchImage }
    public nonisolated var soundName: String? { alert.soundName }
    public nonisolated var badge: NSNumber? { alert.badge }
    public nonisolated var category: String? { alert.category }
}
