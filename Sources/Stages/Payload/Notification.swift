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
        var members = MemberFinder(json)
        causes = try members.required("causes", .array)
        id = try members.required("notificationID", .string)
        container = try members.required("container", .string)
        (environmentName, environment) = try members.word(
            "environment", "development or production", ContainerEnvironment.init)
        database = try members.word("database", "private, public or shared", DatabaseScope.init).word
        user = try members.required("user", .string)
        subscriptionID = try members.required("subscriptionID", .string)
        family = try members.word("subscriptionType", "query, zone or database", SubscriptionFamily.init).word
        reason = try members.word("reason", "create, update or delete", ChangeReason.init).word
        recordName = try family == .query ? members.required("recordName", .string) : nil
        var zone = try members.optional("zoneID", .object).map { MemberFinder($0) }
        zoneName = try zone?.optional("zoneName", .string, in: "zoneID")
        zoneOwner = try zone?.optional("ownerRecordName", .string, in: "zoneID")
        origin = try members.optional("origin", .object)
        fields = try members.optional("fields", .object)
        info = try NotificationInfo(members.optional("notificationInfo", .object))
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
