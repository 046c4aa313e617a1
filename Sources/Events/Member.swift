/// The name of a member of an event: `event[.user]` finds it, `buffer.append(member: .user)` writes it.
public typealias Member = StaticString

/// The members that events have, and what they hold. Nothing else spells them.
extension Member {
    /// What kind of event it is.
    @inlinable package static var type: Member { "type" }
    /// The app's container, such as `iCloud.com.example.Notes`.
    @inlinable package static var container: Member { "container" }
    /// `development` or `production`.
    @inlinable package static var environment: Member { "environment" }
    /// `private`, `public` or `shared`.
    @inlinable package static var database: Member { "database" }
    /// A user's record name.
    @inlinable package static var user: Member { "user" }
    /// Whose database it is; missing in the public one.
    @inlinable package static var owner: Member { "owner" }
    /// Who else sees a shared zone's record.
    @inlinable package static var participants: Member { "participants" }
    /// The user and device that made a change.
    @inlinable package static var origin: Member { "origin" }
    /// A device's name, chosen by its user.
    @inlinable package static var device: Member { "device" }
    /// The name of the transport that reaches a device.
    @inlinable package static var transport: Member { "transport" }
    /// A device's address at its transport.
    @inlinable package static var token: Member { "token" }
    /// An app's bundle ID.
    @inlinable package static var topic: Member { "topic" }
    /// A count on the app's icon.
    @inlinable package static var badge: Member { "badge" }
    /// A record dictionary of CloudKit Web Services.
    @inlinable package static var record: Member { "record" }
    /// The type of a record.
    @inlinable package static var recordType: Member { "recordType" }
    /// The name of a record within its zone.
    @inlinable package static var recordName: Member { "recordName" }
    /// A zone's name and owner.
    @inlinable package static var zoneID: Member { "zoneID" }
    /// The name of a zone within its database.
    @inlinable package static var zoneName: Member { "zoneName" }
    /// The user who owns a zone.
    @inlinable package static var ownerRecordName: Member { "ownerRecordName" }
    /// The fields of a record, by name.
    @inlinable package static var fields: Member { "fields" }
    /// The fields that a record had before its change.
    @inlinable package static var before: Member { "before" }
    /// In the changes log, `create`, `update` or `delete`; elsewhere the sequence of a change.
    @inlinable package static var change: Member { "change" }
    /// When a producer says that something happened.
    @inlinable package static var time: Member { "time" }
    /// A subscription dictionary of CloudKit Web Services.
    @inlinable package static var subscription: Member { "subscription" }
    /// A subscription's name within its user's database.
    @inlinable package static var subscriptionID: Member { "subscriptionID" }
    /// `query`, `zone` or `database`.
    @inlinable package static var subscriptionType: Member { "subscriptionType" }
    /// What a query subscription watches.
    @inlinable package static var query: Member { "query" }
    /// A query's conditions.
    @inlinable package static var filterBy: Member { "filterBy" }
    /// A query's conditions as NSPredicate text.
    @inlinable package static var predicate: Member { "predicate" }
    /// What a query subscription fires on.
    @inlinable package static var firesOn: Member { "firesOn" }
    /// Whether a subscription ends with its first match.
    @inlinable package static var firesOnce: Member { "firesOnce" }
    /// Whether a query goes over all zones of its database.
    @inlinable package static var zoneWide: Member { "zoneWide" }
    /// What a subscription's owner wants to be told.
    @inlinable package static var notificationInfo: Member { "notificationInfo" }
    /// Why: `create`, `update` or `delete` of a change, else words.
    @inlinable package static var reason: Member { "reason" }
    /// What the pushes of one notification share, CloudKit's `nid`.
    @inlinable package static var notificationID: Member { "notificationID" }
    /// The changes that led to an event, by log and sequence.
    @inlinable package static var causes: Member { "causes" }
    /// The name of a log.
    @inlinable package static var log: Member { "log" }
    /// A place in a log, from 1.
    @inlinable package static var sequence: Member { "sequence" }
    /// Which limit ended a notification's wait.
    @inlinable package static var atLimit: Member { "atLimit" }
    /// The first sequence of a range.
    @inlinable package static var first: Member { "first" }
    /// The last sequence of a range.
    @inlinable package static var last: Member { "last" }
    /// How many there are.
    @inlinable package static var count: Member { "count" }
    /// The sequence of a match.
    @inlinable package static var match: Member { "match" }
    /// The sequence of the match that took a match's place.
    @inlinable package static var replacedBy: Member { "replacedBy" }
    /// The sequence of that match's change.
    @inlinable package static var replacedByChange: Member { "replacedByChange" }
    /// A push's `apns-` headers.
    @inlinable package static var headers: Member { "headers" }
    /// A push's payload.
    @inlinable package static var payload: Member { "payload" }
    /// Payloads for devices of other topics, by topic.
    @inlinable package static var payloadByTopic: Member { "payloadByTopic" }
    /// A payload before anything was left out of it.
    @inlinable package static var unpruned: Member { "unpruned" }
    /// The sequence of a push, or the push itself.
    @inlinable package static var push: Member { "push" }
    /// Where a push stood that is sent once more.
    @inlinable package static var redriveOf: Member { "redriveOf" }
    /// What became of a push at a device.
    @inlinable package static var outcome: Member { "outcome" }
    /// The transport's own word, where the outcome is another.
    @inlinable package static var answer: Member { "answer" }
    /// The sequence of the push that took a push's place.
    @inlinable package static var by: Member { "by" }
    /// A transport's status, such as an HTTP status.
    @inlinable package static var status: Member { "status" }
    /// The transport's own reason, where Belfry gives another.
    @inlinable package static var said: Member { "said" }
    /// How often a push was sent.
    @inlinable package static var attempts: Member { "attempts" }
    /// How often it was sent since it was handed out last.
    @inlinable package static var tries: Member { "tries" }
    /// Until when it waits.
    @inlinable package static var until: Member { "until" }
    /// Since when an address is no longer one.
    @inlinable package static var since: Member { "since" }
    /// When a device was registered.
    @inlinable package static var registered: Member { "registered" }
    /// When an answer was taken.
    @inlinable package static var at: Member { "at" }
    /// What a notice is about.
    @inlinable package static var of: Member { "of" }
    /// How many pushes wait.
    @inlinable package static var held: Member { "held" }
    /// When one push tries again.
    @inlinable package static var probeAt: Member { "probeAt" }
    /// What a transport gives as a receipt.
    @inlinable package static var receipt: Member { "receipt" }
    /// A stage's name in the pipeline file.
    @inlinable package static var stage: Member { "stage" }
    /// A stable code.
    @inlinable package static var code: Member { "code" }
    /// Where in an event.
    @inlinable package static var path: Member { "path" }
    /// An event as text.
    @inlinable package static var event: Member { "event" }
    /// Whether the transport still has it.
    @inlinable package static var underWay: Member { "under_way" }
    /// Whether a device may get it twice.
    @inlinable package static var repeatPossible: Member { "repeat_possible" }
    /// A push's identifier at one device.
    @inlinable package static var apnsID: Member { "apns-id" }
    /// A notice's identifier.
    @inlinable package static var webhookID: Member { "webhook-id" }
    /// The app that a push is for.
    @inlinable package static var apnsTopic: Member { "apns-topic" }
    /// `alert` or `background`.
    @inlinable package static var apnsPushType: Member { "apns-push-type" }
    /// 10: at once; 5: when it suits the device's battery.
    @inlinable package static var apnsPriority: Member { "apns-priority" }
    /// Until when APNs keeps a push, in seconds since 1970.
    @inlinable package static var apnsExpiration: Member { "apns-expiration" }
    /// What a push replaces at the device.
    @inlinable package static var apnsCollapseID: Member { "apns-collapse-id" }
}
