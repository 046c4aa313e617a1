import Events
import Foundation
import JSON

/// The contents of a subscription dictionary of any type.
struct SubscriptionForm: Sendable {
    var subscriptionID: CKSubscription.ID
    var type: CKSubscription.SubscriptionType
    var recordType: CKRecord.RecordType?
    var zoneID: CKRecordZone.ID?
    /// Nil if the predicate contains a block, or the subscription is not a query subscription.
    var predicate: PredicateSource?
    var options: CKQuerySubscription.Options = []
    var info: CKSubscription.NotificationInfo?

    init(subscriptionID: CKSubscription.ID, type: CKSubscription.SubscriptionType) {
        (self.subscriptionID, self.type) = (subscriptionID, type)
    }
}

extension SubscriptionForm {
    /// - Parameter type: The expected type; nil for any type.
    init(from coder: NSCoder, as type: CKSubscription.SubscriptionType? = nil) {
        if let form = (coder as? FormCoder)?.form {
            self = form
            return
        }
        let form = Archive.decode(from: coder) { json in
            SubscriptionForm(json: json).flatMap { type == nil || $0.type == type ? $0 : nil }
        }
        self = form ?? SubscriptionForm(damaged: type ?? .query)
    }

    /// A subscription that watches nothing and cannot be saved.
    private init(damaged type: CKSubscription.SubscriptionType) {
        self.init(subscriptionID: "", type: type)
        if type == .query { predicate = PredicateSource(text: "FALSEPREDICATE") }
    }

    private init?(json: JSONValue) {
        guard let subscriptionID = json[.subscriptionID]?.string,
            let type = CKSubscription.SubscriptionType(word: json["subscriptionType"])
        else { return nil }
        self.init(subscriptionID: subscriptionID, type: type)
        let query = json["query"]
        recordType = (query ?? json)["recordType"]?.string
        zoneID = json["zoneID"].flatMap(CKRecordZone.ID.init(json:))
        predicate = query.flatMap(PredicateSource.init(json:))
        options = CKQuerySubscription.Options(json: json)
        info = json["notificationInfo"].map { CKSubscription.NotificationInfo(NotificationProperties(json: $0)) }
        guard hasRequiredMembers else { return nil }
    }

    private var hasRequiredMembers: Bool {
        switch type {
        case .query: recordType != nil && predicate != nil
        case .recordZone: zoneID != nil
        case .database: true
        }
    }
}

/// Passes a form to ``CKSubscription/init(coder:)``. If `CKSubscription` had an internal initializer that takes a form,
/// subclasses in other modules would not inherit the convenience initializers.
final class FormCoder: NSCoder {
    let form: SubscriptionForm

    init(_ form: SubscriptionForm) { self.form = form }
}
