import Foundation

/// The content of a payload, for every kind of notification.
struct NotificationContent: Sendable {
    /// The dictionary under `ck` that names the kind of notification.
    enum Kind: String, CaseIterable {
        case query = "qry"
        case zone = "fet"
        case database = "met"

        var type: CKNotification.NotificationType {
            switch self {
            case .query: .query
            case .zone: .recordZone
            case .database: .database
            }
        }
    }

    /// Nil if the payload has none of the dictionaries. CloudKit's client reads such a payload as a notification of
    /// unknown kind.
    let kind: Kind?
    let notificationID: CKNotification.ID?
    let containerIdentifier: String
    let ownerRecordID: CKRecord.ID?
    let subscriptionID: CKSubscription.ID?
    let isPruned: Bool
    let alert: Alert
    /// The database that changed. Meaningless if `kind` is nil.
    let databaseScope: CKDatabase.Scope
    /// Nil if the payload lacks the zone's name or owner.
    let zoneID: CKRecordZone.ID?
    let reason: CKQueryNotification.Reason
    let recordID: CKRecord.ID?
    let fields: [String: RecordFieldValue]?

    /// Nil if CloudKit's client would not read the payload.
    init?(_ payload: PayloadDictionary) {
        guard let ck = payload.dictionary("ck") else { return nil }
        let kind = Kind.allCases.first { ck.members[$0.rawValue] != nil }
        let content = kind.flatMap { ck.dictionary($0.rawValue) }
        let scope = content?.integer("dbs").flatMap(CKDatabase.Scope.init(wireCode:))
        guard kind == nil || scope != nil else { return nil }
        (self.kind, databaseScope) = (kind, scope ?? .private)
        notificationID = ck.text("nid").map(CKNotificationID.init)
        containerIdentifier = ck.text("cid") ?? "Unknown Container"
        ownerRecordID = ck.text("ckuserid").map { CKRecord.ID(recordName: $0) }
        subscriptionID = content?.text("sid")
        isPruned = ck.members["p"] != nil
        alert = Alert(payload.dictionary("aps"))
        let zoneID = content?.zoneID
        self.zoneID = zoneID
        reason = content?.integer("fo").flatMap(CKQueryNotification.Reason.init) ?? .recordCreated
        recordID = content?.text("rid").flatMap { name in zoneID.map { CKRecord.ID(recordName: name, zoneID: $0) } }
        fields = content?.dictionary("af").map { RecordFieldValue.read($0, in: zoneID ?? .default) }
    }
}
