import CloudKitModel
import Events
import JSON

/// `subscriptions/modify`: subscriptions to save and to delete. Ingest checks them.
struct SubscriptionsModifyRequest: Sendable {
    struct Item: Sendable {
        let subscriptionID: String
        let isDelete: Bool
        /// The JSON of the subscription to save; empty for a delete.
        let subscription: String
        /// A line for ingest's door.
        let line: PendingLine
    }

    let items: [Item]

    /// - Parameters:
    ///   - lineMaker: Makes the lines for ingest's door.
    ///   - newID: Makes an ID for a subscription that the client has not named.
    init(_ body: JSONValue, _ lineMaker: LineMaker, newID: () -> String) throws(ServiceError) {
        items = try body.items(.operations) { operation throws(ServiceError) in
            let isDelete = try operation.isDelete(["create", "update", "delete"])
            guard let subscription = operation[.subscription], subscription.isObject else {
                throw .bad("subscription: expected an object")
            }
            let given = try subscription.optionalText(.subscriptionID)
            guard !isDelete else {
                guard let given else { throw .bad("subscription.subscriptionID: is required") }
                return Item(
                    subscriptionID: given, isDelete: true, subscription: "",
                    line: lineMaker.make { $0.delete(subscription: given) })
            }
            let id = given ?? newID()
            let text = Self.text(subscription, id: given == nil ? id : nil)
            return Item(
                subscriptionID: id, isDelete: false, subscription: text,
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
