import Foundation
import JSON

/// What a subscription dictionary says, whatever the subscription's type.
struct SubscriptionForm {
    var subscriptionID: CKSubscription.ID
    var type = CKSubscription.SubscriptionType.query
    var recordType: CKRecord.RecordType?
    var zoneID: CKRecordZone.ID?
    var predicate: PredicateSource?
    var options: CKQuerySubscription.Options = []
    var info: CKSubscription.NotificationInfo?

    init(subscriptionID: CKSubscription.ID) { self.subscriptionID = subscriptionID }

    /// - Parameter type: The one that is expected; nil for any.
    init(from coder: NSCoder, as type: CKSubscription.SubscriptionType? = nil) {
        let form = Archive.decode(from: coder) { json in
            SubscriptionForm(json: json).flatMap { type == nil || $0.type == type ? $0 : nil }
        }
        self = form ?? SubscriptionForm(subscriptionID: "")
    }

    private init?(json: JSONValue) {
        guard let subscriptionID = json["subscriptionID"]?.string,
            let type = CKSubscription.SubscriptionType(word: json["subscriptionType"])
        else { return nil }
        (self.subscriptionID, self.type) = (subscriptionID, type)
        let query = json["query"]
        recordType = (query ?? json)["recordType"]?.string
        zoneID = json["zoneID"].flatMap(CKRecordZone.ID.init(json:))
        predicate = query.flatMap(PredicateSource.init(json:))
        options = CKQuerySubscription.Options(json: json)
        info = json["notificationInfo"].map { CKSubscription.NotificationInfo(NotificationProperties(json: $0)) }
        guard isWhole else { return nil }
    }

    private var isWhole: Bool {
        switch type {
        case .query: recordType != nil && predicate != nil
        case .recordZone: zoneID != nil
        case .database: true
        }
    }
}
