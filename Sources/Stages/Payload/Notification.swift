import JSON
import PipelineKit

/// A notification as this stage reads it: views into the event, valid as long as the event is.
struct Notification {
    let id: JSONValue
    let container: JSONValue
    let environmentName: JSONValue
    let environment: ContainerEnvironment
    let database: DatabaseScope
    let user: JSONValue
    let subscriptionID: JSONValue
    let family: SubscriptionFamily
    let reason: ChangeReason
    /// Named by query notifications only.
    let recordName: JSONValue?
    /// Nil for the default zone.
    let zoneName: JSONValue?
    let zoneOwner: JSONValue?
    let origin: JSONValue?
    let fields: JSONValue?
    let causes: JSONValue
    let info: NotificationInfo

    init(_ json: JSONValue) throws(Rejection) {
        causes = try json.required("causes", .array)
        id = try json.required("notificationID", .string)
        container = try json.required("container", .string)
        environmentName = try json.required("environment", .string)
        environment = try json.word("environment", "development or production", ContainerEnvironment.init)
        database = try json.word("database", "private, public or shared", DatabaseScope.init)
        user = try json.required("user", .string)
        subscriptionID = try json.required("subscriptionID", .string)
        family = try json.word("subscriptionType", "query, zone or database", SubscriptionFamily.init)
        reason = try json.word("reason", "create, update or delete", ChangeReason.init)
        recordName = try family == .query ? json.required("recordName", .string) : nil
        let zoneID = try json.optional("zoneID", .object)
        zoneName = try zoneID?.optional("zoneName", .string, in: "zoneID")
        zoneOwner = try zoneID?.optional("ownerRecordName", .string, in: "zoneID")
        origin = try json.optional("origin", .object)
        fields = try json.optional("fields", .object)
        info = try NotificationInfo(json.optional("notificationInfo", .object))
        guard id.raw.count + subscriptionID.raw.count <= Push.identifierBytesMax else { throw .identifiersTooLong }
    }
}

extension Rejection {
    fileprivate static var identifiersTooLong: Rejection {
        Rejection(
            code: "payload.too_large",
            reason: "notification and subscription ID take more than \(Push.identifierBytesMax) bytes together",
            path: "subscriptionID")
    }
}
