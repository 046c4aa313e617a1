import Foundation

/// All that a notification tells, whatever its kind.
struct NotificationContent: Sendable {
    let type: CKNotification.NotificationType
    let notificationID: CKNotification.ID?
    let containerIdentifier: String
    let ownerRecordID: CKRecord.ID?
    let subscriptionID: CKSubscription.ID?
    let isPruned: Bool
    let alert: Alert
    /// Means nothing without a kind.
    let databaseScope: CKDatabase.Scope
    /// Nil where name or owner was left out.
    let zoneID: CKRecordZone.ID?
    let reason: CKQueryNotification.Reason
    let recordID: CKRecord.ID?
    let fields: [String: RecordFieldValue]?

    init(_ payload: NotificationPayload) {
        let (ck, content) = (payload.ck, payload.content)
        type = payload.family?.type ?? .unknown
        notificationID = ck.text("nid").map(CKNotificationID.init)
        containerIdentifier = ck.text("cid") ?? "Unknown Container"
        ownerRecordID = ck.text("ckuserid").map { CKRecord.ID(recordName: $0) }
        subscriptionID = content?.text("sid")
        isPruned = ck.members["p"] != nil
        alert = Alert(payload.aps)
        databaseScope = payload.databaseScope
        let zoneID = payload.zoneID
        self.zoneID = zoneID
        reason = content?.integer("fo").flatMap(CKQueryNotification.Reason.init) ?? .recordCreated
        recordID = content?.text("rid").flatMap { name in zoneID.map { CKRecord.ID(recordName: name, zoneID: $0) } }
        fields = content?.dictionary("af").map { RecordFieldValue.read($0, in: zoneID ?? .default) }
    }
}
