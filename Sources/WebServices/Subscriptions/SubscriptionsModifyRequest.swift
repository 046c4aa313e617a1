import CloudKitModel
import Events
import JSON
import RecordStore

/// `subscriptions/modify`: subscriptions to save and to delete. Ingest checks them.
struct SubscriptionsModifyRequest: Sendable {
    struct Item: Sendable {
        let subscriptionID: String
        let operation: Operation
        /// The JSON of the subscription to save; empty for a delete.
        let subscription: String
        /// The zone that the subscription to save names; nil if it names none.
        let zone: ZoneKey?
        /// A line for ingest's door.
        let line: PendingLine
    }

    // CloudKit Web Services Reference, "Modifying Subscriptions": `update` is "to change an existing subscription".
    enum Operation: String, CaseIterable, Sendable {
        /// Saves a subscription, whether the user has it or not.
        case create
        /// Saves a subscription that the user has.
        case update
        case delete
    }

    let items: [Item]

    /// - Parameters:
    ///   - lineMaker: Makes the lines for ingest's door.
    ///   - newID: Makes an ID for a new subscription that the client has not named.
    init(_ body: JSONValue, _ lineMaker: LineMaker, newID: () -> String) throws(ServiceError) {
        items = try body.items(.operations) { json throws(ServiceError) in
            let operation: Operation = try json.operation()
            guard let subscription = json[.subscription], subscription.isObject else {
                throw .bad("subscription: expected an object")
            }
            let given = try subscription.optionalText(.subscriptionID)
            guard given != nil || operation == .create else { throw .bad("subscription.subscriptionID: is required") }
            let id = given ?? newID()
            guard operation != .delete else {
                return Item(
                    subscriptionID: id, operation: operation, subscription: "", zone: nil,
                    line: lineMaker.make { $0.delete(subscription: id) })
            }
            let text = Self.text(subscription, id: given == nil ? id : nil)
            return Item(
                subscriptionID: id, operation: operation, subscription: text,
                zone: subscription[.zoneID].map { ZoneKey($0) },
                line: lineMaker.make { $0.save(subscription: text) })
        }
    }

    /// - Parameter id: The ID to add; nil if the subscription already has an ID.
    private static func text(_ subscription: JSONValue, id: String?) -> String {
        ByteBuffer.object { json in
            json.append(.subscriptionID, id)
            for (key, value) in subscription.members {
                json.append(key: key.string ?? "")
                json.append(value.raw)
            }
        }.text
    }
}

extension SubscriptionsModifyRequest {
    /// The errors of the operations that the gateway refuses, by index.
    ///
    /// - Parameters:
    ///   - saved: The subscriptions that the user has in the database.
    ///   - zones: The zones that exist, of those that the subscriptions name.
    func refusals(_ saved: SavedItems<String>, zones: Set<ZoneKey>) -> [Int: ServiceError] {
        var count = ItemCount(saved, max: UserLimits.subscriptionsMax)
        var refusals: [Int: ServiceError] = [:]
        for (index, item) in items.enumerated() { refusals[index] = item.refusal(&count, zones) }
        return refusals
    }

    /// The zones that the subscriptions to save name.
    var zones: [ZoneKey] { items.compactMap(\.zone) }
}

extension SubscriptionsModifyRequest.Item {
    fileprivate func refusal(_ count: inout ItemCount<String>, _ zones: Set<ZoneKey>) -> ServiceError? {
        let (rule, bytes, bytesMax) = (
            NameRule.subscriptionID, subscription.utf8.count, UserLimits.subscriptionBytesMax
        )
        guard rule.accepts(subscriptionID) else { return .bad("subscription.subscriptionID: \(rule.rule)") }
        guard bytes <= bytesMax else {
            return ServiceError(
                .quotaExceeded,
                "subscription: it has \(bytes) bytes, but a subscription may have at most \(bytesMax); shorten its query or "
                    + "its notificationInfo")
        }
        guard operation != .delete else {
            count.delete(subscriptionID)
            return nil
        }
        guard operation == .create || count.has(subscriptionID) else {
            return ServiceError(
                .notFound,
                "subscription.subscriptionID: the user has no subscription with this ID in this database; create it")
        }
        if let zone, !zones.contains(zone) {
            return ServiceError(
                .zoneNotFound, "subscription.zoneID: there is no zone \(zone.name); create it with zones/modify first")
        }
        guard count.save(subscriptionID) else {
            return ServiceError(
                .quotaExceeded,
                "subscription: a user may have at most \(UserLimits.subscriptionsMax) subscriptions in a database; delete "
                    + "subscriptions first")
        }
        return nil
    }
}
