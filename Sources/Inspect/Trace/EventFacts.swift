import Events
import JSON

/// The members of an event that tell how it hangs together with others. Nil where it has none such.
struct EventFacts: Hashable, Sendable {
    var type = ""
    var isJSON = true
    /// In a match, a notification and what replaced one: the position of the change.
    var change: UInt64?
    /// The changes that a notification, push or outcome stands for.
    var causes: [UInt64] = []
    var notificationID: ExactText?
    var container: ExactText?
    var environment: ExactText?
    var user: ExactText?
    var subscriptionID: ExactText?
    var recordName: ExactText?
    var recordType: String?
    /// `create`, `update` or `delete`; in an outcome and a dead letter why.
    var reason: String?
    var originUser: ExactText?
    var originDevice: ExactText?
    var push: UInt64?
    /// In a `push.redrive` and its outcome: the push that is sent again.
    var redriveOf: EventPlace?
    var match: UInt64?
    var replacedBy: UInt64?
    var replacedByChange: UInt64?
    var device: ExactText?
    var transport: String?
    var topic: ExactText?
    /// The push's, or the `webhook-id` of a notice.
    var apnsID: ExactText?
    var outcome: String?
    var status: Int64?
    var attempts: Int64?
    /// The transport's own word, where it is another.
    var answer: String?
    /// Of a device that was retired: when it had been registered.
    var registered: String?
    /// Of an app that is stopped: when it is tried again.
    var probeAt: String?
    /// Of a push that is put off: when it is sent again.
    var until: String?
    /// How many pushes went on with their app.
    var held: Int64?
    /// In `not_matched`: the range of changes, and how many of it nobody watched.
    var first: UInt64?
    var last: UInt64?
    var count: Int64?
    /// In a dead letter: the event that was refused, by which stage, and why.
    var refused: EventPlace?
    var stage: String?
    var code: String?
    var path: String?
    /// What a push shows.
    var alert: String?

    init(_ line: [UInt8]) {
        var parser = JSONParser(limits: JSONLimits(bytesMax: JSONLimits.bytesMaxHighest, depthMax: 512))
        line.withUnsafeBytes { bytes in
            do throws(JSONError) { read(try parser.parse(bytes)) } catch {
                (type, isJSON) = ("not JSON", false)
            }
        }
    }

    var isChange: Bool { type == "record.save" || type == "record.delete" }
    var isDevice: Bool { type.hasPrefix("device.") }
    var isRedrive: Bool { type == "push.redrive" }
    /// Whether it is about a retired device, and what its app's backend was told.
    var isRetirement: Bool { type == "device.retired" || type.hasPrefix("notice.") }
    var isApp: Bool { type.hasPrefix("app.") }
    /// Whether a stage makes such events itself; all others are passed on as they came.
    var isMade: Bool { EventFacts.madeTypes.contains(type) || isRetirement || isApp || type.isEmpty }

    /// Whether both are about one notification: one change may make several of one ID, for several subscriptions.
    func isSameNotification(as other: EventFacts) -> Bool {
        notificationID != nil && notificationID == other.notificationID && user == other.user
            && subscriptionID == other.subscriptionID
    }

    private static let madeTypes = Set(
        [
            EventName.match, EventName.notMatched, EventName.notification, EventName.coalesced, EventName.push,
            EventName.outcome, EventName.attempt, EventName.deadLetter,
        ].map(\.description))

    private mutating func read(_ event: JSONValue) {
        type = event[.type]?.string ?? ""
        readNames(event)
        readPositions(event)
        readOutcome(event)
        if type == "dead_letter" { readLetter(event) }
    }

    private mutating func readNames(_ event: JSONValue) {
        let record = event[.record]
        notificationID = event[.notificationID]?.exact
        container = event[.container]?.exact
        environment = event[.environment]?.exact
        user = event[.user]?.exact
        subscriptionID = (event[.subscriptionID] ?? event[.subscription]?[.subscriptionID])?.exact
        recordName = (event[.recordName] ?? record?[.recordName])?.exact
        recordType = (record?[.recordType] ?? event[.recordType])?.string
        reason = (isChange ? event[.change] : event[.reason])?.string
        originUser = event[.origin]?[.user]?.exact
        originDevice = event[.origin]?[.device]?.exact
        device = event[.device]?.exact
        transport = event[.transport]?.string
        topic = event[.topic]?.exact
    }

    private mutating func readPositions(_ event: JSONValue) {
        change = event[.change]?.sequence
        causes = event.causes
        push = event[.push]?.sequence
        redriveOf = event[.redriveOf].flatMap(EventPlace.init)
        match = event[.match]?.sequence
        replacedBy = event[.replacedBy]?.sequence
        replacedByChange = event[.replacedByChange]?.sequence
        (first, last, count) = (event[.first]?.sequence, event[.last]?.sequence, event[.count]?.int64)
    }

    private mutating func readOutcome(_ event: JSONValue) {
        apnsID = (event[.apnsID] ?? event[.webhookID])?.exact
        (answer, registered) = (event[.answer]?.string, event[.registered]?.string)
        (probeAt, held) = (event[.probeAt]?.string, event[.held]?.int64)
        outcome = event[.outcome]?.string
        until = outcome == "deferred" ? event[.until]?.string : nil
        status = event[.status]?.int64
        attempts = event[.attempts]?.int64
        alert = EventFacts.alert(of: event)
    }

    /// What a push shows, in short; nil where it is silent.
    static func alert(of push: JSONValue) -> String? {
        let shown = push[.payload]?["aps"]?["alert"]
        return (shown?["title"] ?? shown?["title-loc-key"] ?? shown?["body"] ?? shown?["loc-key"] ?? shown)?.string
    }

    private mutating func readLetter(_ event: JSONValue) {
        refused = EventPlace(event)
        (stage, code, path) = (event[.stage]?.string, event[.code]?.string, event[.path]?.string)
    }
}
