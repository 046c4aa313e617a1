import Events
import JSON
import PipelineKit

/// A parsed `notification` event. Its members are views into the event.
struct Notification: ~Escapable {
    let id: JSONValue
    let container: JSONValue
    let environmentName: JSONValue
    let environment: EnvironmentCode
    let database: DatabaseCode
    let user: JSONValue
    let subscriptionID: JSONValue
    let subscriptionType: SubscriptionType
    let reason: ChangeReason
    /// The name of the changed record; nil for notifications of zone and database subscriptions.
    let recordName: JSONValue?
    /// Nil if the event names no zone, which means the default zone.
    let zoneName: JSONValue?
    let zoneOwner: JSONValue?
    let origin: JSONValue?
    let fields: JSONValue?
    let causes: JSONValue
    let info: NotificationInfo

    @_lifetime(copy event)
    init(_ event: JSONView) throws(Rejection) {
        let members = NotificationMembers(of: event.value)
        causes = try members.causes.required(.causes, .array)
        id = try members.notificationID.required(.notificationID, .string)
        container = try members.container.required(.container, .string)
        environmentName = try members.environment.required(.environment, .string)
        environment = try members.environment.word(
            "environment", "development or production", EnvironmentCode.init)
        database = try members.database.word("database", "private, public or shared", DatabaseCode.init)
        user = try members.user.required(.user, .string)
        subscriptionID = try members.subscriptionID.required(.subscriptionID, .string)
        subscriptionType = try members.subscriptionType.word(
            "subscriptionType", "query, zone or database", SubscriptionType.init)
        reason = try members.reason.word("reason", "create, update or delete", ChangeReason.init)
        recordName = try subscriptionType == .query ? members.recordName.required(.recordName, .string) : nil
        let zoneID = try members.zoneID.optional(.zoneID, .object)
        zoneName = try zoneID.flatMap { $0[.zoneName] }.optional("zoneID.zoneName", .string)
        zoneOwner = try zoneID.flatMap { $0[.ownerRecordName] }.optional("zoneID.ownerRecordName", .string)
        origin = try members.origin.optional(.origin, .object)
        fields = try members.fields.optional(.fields, .object)
        info = try NotificationInfo(members.notificationInfo.optional(.notificationInfo, .object))
        guard id.raw.count + subscriptionID.raw.count <= Push.identifierBytesMax else { throw .identifiersTooLong }
    }
}

/// The members of a notification, found in one pass. A lookup for each member would take a quarter of the stage's time.
private struct NotificationMembers {
    private(set) var causes: JSONValue?
    private(set) var notificationID: JSONValue?
    private(set) var container: JSONValue?
    private(set) var environment: JSONValue?
    private(set) var database: JSONValue?
    private(set) var user: JSONValue?
    private(set) var subscriptionID: JSONValue?
    private(set) var subscriptionType: JSONValue?
    private(set) var reason: JSONValue?
    private(set) var recordName: JSONValue?
    private(set) var zoneID: JSONValue?
    private(set) var origin: JSONValue?
    private(set) var fields: JSONValue?
    private(set) var notificationInfo: JSONValue?

    /// If a key occurs twice, the first value counts.
    @inline(__always)
    init(of event: JSONValue) {
        for (key, value) in event.members {
            switch key.textLength {
            case 4 where key.equals(.user): user = user ?? value
            case 6 where key.equals(.causes): causes = causes ?? value
            case 6 where key.equals(.reason): reason = reason ?? value
            case 6 where key.equals(.zoneID): zoneID = zoneID ?? value
            case 6 where key.equals(.origin): origin = origin ?? value
            case 6 where key.equals(.fields): fields = fields ?? value
            case 8 where key.equals(.database): database = database ?? value
            case 9 where key.equals(.container): container = container ?? value
            case 10 where key.equals(.recordName): recordName = recordName ?? value
            case 11 where key.equals(.environment): environment = environment ?? value
            case 14 where key.equals(.notificationID): notificationID = notificationID ?? value
            case 14 where key.equals(.subscriptionID): subscriptionID = subscriptionID ?? value
            case 16 where key.equals(.subscriptionType): subscriptionType = subscriptionType ?? value
            case 16 where key.equals(.notificationInfo): notificationInfo = notificationInfo ?? value
            default: break
            }
        }
    }
}

extension Rejection {
    fileprivate static var identifiersTooLong: Rejection {
        Rejection(
            code: "payload.too_large",
            reason: "as JSON strings, notificationID and subscriptionID have more than \(Push.identifierBytesMax) "
                + "bytes together: shorten the subscription ID",
            path: Member.subscriptionID.description)
    }
}
