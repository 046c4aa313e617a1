import Foundation

/// A payload that CloudKit's client would read.
struct NotificationPayload {
    /// Which dictionary under `ck` there is.
    enum Family: String, CaseIterable {
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

    let aps: Payload?
    let ck: Payload
    /// Nil where no dictionary tells: CloudKit's client reads a notification without a kind.
    let family: Family?
    /// The family's dictionary; nil without a family.
    let content: Payload?
    /// Means nothing without a family.
    let databaseScope: CKDatabase.Scope

    init?(_ payload: Payload) {
        guard let ck = payload.dictionary("ck") else { return nil }
        (self.ck, aps) = (ck, payload.dictionary("aps"))
        family = Family.allCases.first { ck.members[$0.rawValue] != nil }
        guard let family else {
            (content, databaseScope) = (nil, .private)
            return
        }
        guard let content = ck.dictionary(family.rawValue),
            let databaseScope = content.integer("dbs").flatMap(CKDatabase.Scope.init(wireCode:))
        else { return nil }
        (self.content, self.databaseScope) = (content, databaseScope)
    }

    /// Nil where name or owner was left out.
    var zoneID: CKRecordZone.ID? { content?.zoneID(name: "zid", owner: "zoid") }
}
