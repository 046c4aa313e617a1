import EventLog
import Events
import JSON
import PipelineKit

/// The saves and deletes of one subscription, in order.
struct SubscriptionHistory {
    struct Identity: Hashable {
        let container: ExactText
        let environment: ExactText
        let database: ExactText
        let user: ExactText
        let subscriptionID: ExactText

        init?(_ json: JSONValue) {
            let holder = json[.subscription] ?? json
            guard let container = json[.container]?.exact, let environment = json[.environment]?.exact,
                let database = json[.database]?.exact, let user = json[.user]?.exact,
                let subscriptionID = holder[.subscriptionID]?.exact
            else { return nil }
            (self.container, self.environment, self.database) = (container, environment, database)
            (self.user, self.subscriptionID) = (user, subscriptionID)
        }
    }

    struct Entry {
        let event: LoggedEvent
        let isSave: Bool
        let firesOnce: Bool
    }

    let identity: Identity
    private(set) var entries: [Entry] = []

    /// Nil if the subscription had not been saved or deleted yet.
    func last(before change: UInt64) -> Entry? { entries.last { $0.event.sequence < change } }

    func saves(through last: UInt64) -> [Entry] { entries.filter { $0.isSave && $0.event.sequence <= last } }

    /// A copy without the events with these sequences.
    func without(_ sequences: Set<UInt64>) -> SubscriptionHistory {
        var copy = self
        copy.entries.removeAll { sequences.contains($0.event.sequence) }
        return copy
    }

    /// The subscriptions with the given user and ID, in the order of their first events. Nil stands for any user or any
    /// ID.
    static func all(
        in log: String, through last: UInt64, user: ExactText?, subscriptionID: ExactText?, _ finder: any EventFinder
    ) throws -> [SubscriptionHistory] {
        var (histories, numbers) = ([SubscriptionHistory](), [Identity: Int]())
        let names = [user.map(SearchName.user), subscriptionID.map(SearchName.subscription)].compactMap { $0 }
        try finder.events(in: log, from: 1, through: last, naming: names) { event in
            let isSave = event.json[.type]?.equals(EventName.subscriptionSave) ?? false
            guard isSave || event.json[.type]?.equals(EventName.subscriptionDelete) ?? false,
                let identity = Identity(event.json), user ?? identity.user == identity.user,
                subscriptionID ?? identity.subscriptionID == identity.subscriptionID
            else { return true }
            let number = numbers[identity] ?? histories.count
            if number == histories.count { histories.append(SubscriptionHistory(identity: identity)) }
            numbers[identity] = number
            let firesOnce = event.json[.subscription]?[.firesOnce]?.bool ?? false
            histories[number].entries.append(Entry(event: event.copied, isSave: isSave, firesOnce: firesOnce))
            return true
        }
        return histories
    }
}
