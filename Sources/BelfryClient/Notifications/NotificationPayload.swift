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
    let family: Family
    /// The family's dictionary.
    let content: Payload
    let databaseScope: CKDatabase.Scope

    init?(_ payload: Payload) {
        guard let ck = payload.dictionary("ck"),
            let family = Family.allCases.first(where: { ck.members[$0.rawValue] != nil }),
            let content = ck.dictionary(family.rawValue),
            let databaseScope = content.integer("dbs").flatMap(CKDatabase.Scope.init(wireCode:))
        else { return nil }
        (self.ck, self.family, self.content, self.databaseScope) = (ck, family, content, databaseScope)
        aps = payload.dictionary("aps")
    }

    /// Nil where name or owner was left out.
    var zoneID: CKRecordZone.ID? { content.zoneID(name: "zid", owner: "zoid") }
}
