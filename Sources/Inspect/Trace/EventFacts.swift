import Events
import JSON

/// The members of an event that a trace needs: its references to other events, and the values that its summary shows.
struct EventFacts: Hashable, Sendable {
    var type = ""
    var isJSON = true
    /// The sequence of the change, in `match`, `notification` and `coalesced`.
    var change: UInt64?
    /// The sequences of all changes that led to a notification, push or outcome.
    var causes: [UInt64] = []
    var notificationID: ExactText?
    var container: ExactText?
    var environment: ExactText?
    var user: ExactText?
    var subscriptionID: ExactText?
    var recordName: ExactText?
    var recordType: String?
    /// In a change, a match and a notification: `create`, `update` or `delete`. In other events: the reason of a
    /// failure.
    var reason: String?
    var originUser: ExactText?
    var originDevice: ExactText?
    var push: UInt64?
    /// In a `push.redrive` and its outcome: the push that was sent again, which may be a redrive itself.
    var redriveOf: EventPlace?
    var match: UInt64?
    var replacedBy: UInt64?
    var replacedByChange: UInt64?
    var device: ExactText?
    var transport: String?
    var topic: ExactText?
    /// The push's `apns-id`, or the notice's `webhook-id`.
    var apnsID: ExactText?
    var outcome: String?
    var status: Int64?
    var attempts: Int64?
    /// The member `answer`: the transport's answer, if it differs from the outcome. The text "none" means that a
    /// transport can give this outcome, but here deliver itself decided on it. Nil in all other cases.
    var answer: String?
    var registered: String?
    var probeAt: String?
    var until: String?
    /// In `app.resumed`: how many pushes waited while the app was stopped.
    var held: Int64?
    /// In `not_matched`: the range of changes, and how many of them matched no subscription.
    var first: UInt64?
    var last: UInt64?
    var count: Int64?
    /// In a dead letter: the rejected event, the stage that rejected it, and why.
    var rejected: EventPlace?
    var stage: String?
    var code: String?
    var path: String?
    /// In a push: what it shows and plays; see ``content(of:)``.
    var pushContent = ""

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
    /// Whether the event is about a retired device or a notice of the retirement.
    var isRetirement: Bool { type == "device.retired" || type.hasPrefix("notice.") }
    var isApp: Bool { type.hasPrefix("app.") }
    /// Whether the event is of a type that Belfry's stages make, or has no type. The other events come from producers
    /// or plugins.
    var isMade: Bool { EventFacts.madeTypes.contains(type) || isRetirement || isApp || type.isEmpty }

    /// Whether both are about one notification. Notifications for several subscriptions may share an ID.
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
        pushContent = EventFacts.content(of: event)
    }

    /// What a push shows and plays, for people: the title or text in quotes, or the key of a localized one. Without a
    /// text, which of `alert`, `badge` and `sound` the push has, or `silent`.
    static func content(of push: JSONValue) -> String {
        let aps = push[.payload]?["aps"]
        let alert = aps?["alert"]
        let text = alert?["title"] ?? alert?["title-loc-key"] ?? alert?["body"] ?? alert?["loc-key"] ?? alert
        if let text = text?.string { return "\"\(text)\"" }
        let parts = ["alert", "badge", "sound"].filter { aps?.member($0) != nil }
        return parts.isEmpty ? "silent" : parts.joined(separator: ", ")
    }

    private mutating func readLetter(_ event: JSONValue) {
        rejected = EventPlace(event)
        (stage, code, path) = (event[.stage]?.string, event[.code]?.string, event[.path]?.string)
    }
}
