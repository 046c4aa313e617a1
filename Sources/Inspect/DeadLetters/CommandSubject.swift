import Events
import JSON
import Time

/// What a command is about: of two commands about one thing the newer counts.
struct CommandSubject: Hashable, Sendable {
    private let kind: String
    private let names: [ExactText?]

    /// Nil for what is no command that ingest takes.
    init?(_ json: JSONValue) {
        guard let type = json[.type]?.string else { return nil }
        let place = [json[.container]?.exact, json[.environment]?.exact]
        switch type {
        case "record.save", "record.delete":
            guard let record = json[.record] else { return nil }
            let zone = record[.zoneID]?[.zoneName]?.exact ?? "_defaultZone"
            kind = "record"
            names =
                place + [json[.database]?.exact, json[.owner]?.exact, zone, record[.recordName]?.exact]
        case "subscription.save", "subscription.delete":
            kind = "subscription"
            let id = (json[.subscription]?[.subscriptionID] ?? json[.subscriptionID])?.exact
            names = place + [json[.user]?.exact, id]
        case "device.register", "device.unregister":
            (kind, names) = ("device", place + [json[.user]?.exact, json[.device]?.exact])
        case "badge.set": (kind, names) = ("badge", place + [json[.user]?.exact, json[.topic]?.exact])
        default: return nil
        }
    }

    /// The same for two commands that say the same, in whatever words.
    static func fingerprint(_ command: JSONValue) -> Int { command.canonical.hashValue }
}

/// The newest command about a thing.
struct NewestCommand: Sendable {
    let sequence: UInt64
    let time: Instant
    let fingerprint: Int
}

/// What the log of changes holds of the things that refused commands are about, and of redrives.
struct CommandHistory {
    /// By what they are about.
    private(set) var newest: [CommandSubject: NewestCommand] = [:]
    /// The newest redrive of a push at a device.
    private(set) var redrives: [RedrivenPush: UInt64] = [:]

    struct RedrivenPush: Hashable {
        let push: EventPlace
        let user, device: ExactText?
    }

    /// - Parameter letters: What to look for.
    init(_ letters: [Letter], in log: String, _ progress: (UInt64) -> Void) throws {
        var things: Set<CommandSubject> = []
        for letter in letters {
            if case .event(let event) = letter.content, let thing = event.thing { things.insert(thing) }
        }
        // Only where commands are looked for, each event must be looked at.
        let shared: [HeldValue] = things.isEmpty ? [.text(ExactText(Member.redriveOf.description))] : []
        try LogScan.events(in: log, from: .epoch, holding: shared) { event in
            progress(UInt64(event.line.count))
            take(event, things)
        }
    }

    private mutating func take(_ event: LogScan.Event, _ things: Set<CommandSubject>) {
        if let former = event.json[.redriveOf], let place = EventPlace(former) {
            let push = RedrivenPush(push: place, user: event.json[.user]?.exact, device: event.json[.device]?.exact)
            redrives[push] = event.sequence
        } else if let thing = CommandSubject(event.json), things.contains(thing) {
            newest[thing] = NewestCommand(
                sequence: event.sequence, time: event.now, fingerprint: CommandSubject.fingerprint(event.json))
        }
    }

    /// Adds what became of a letter since.
    func complete(_ letter: inout Letter) {
        switch letter.content {
        case .push:
            letter.redriven =
                redrives[
                    RedrivenPush(push: letter.subject, user: letter.user, device: letter.device)]
        case .event(var event):
            event.newest = event.thing.flatMap { newest[$0] }
            letter.content = .event(event)
            if let newest = event.newest, newest.fingerprint == event.fingerprint, newest.time > letter.time {
                letter.redriven = newest.sequence
            }
        }
    }
}
