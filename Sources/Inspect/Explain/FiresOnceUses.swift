import Events
import JSON

/// Finds the changes that used up a user's fires-once subscriptions. A subscription is used up by its first recorded
/// match after it was saved.
struct FiresOnceUses {
    typealias Identity = SubscriptionHistory.Identity

    private let saves: [Identity: SubscriptionHistory.Entry]
    private let change: UInt64

    /// Up to this many subscriptions are looked up one by one. If there are more, all matches of the user are read
    /// once.
    private static let lookupsMax = 8

    init(of histories: [SubscriptionHistory], before change: UInt64) {
        var saves: [Identity: SubscriptionHistory.Entry] = [:]
        for history in histories {
            guard let last = history.last(before: change), last.isSave, last.firesOnce else { continue }
            saves[history.identity] = last
        }
        (self.saves, self.change) = (saves, change)
    }

    /// - Returns: The sequence of the change for each subscription that has fired.
    func find(in logs: RecordedLogs, _ finder: any EventFinder) throws -> [Identity: UInt64] {
        guard let user = saves.keys.first?.user, let log = logs.existingLog(.matches) else { return [:] }
        guard saves.count <= FiresOnceUses.lookupsMax else {
            return try find(saves, [.receiver(user)], log, finder)
        }
        var uses: [Identity: UInt64] = [:]
        for (id, save) in saves {
            let name = SearchName(receiver: id.user, subscription: id.subscriptionID)
            uses.merge(try find([id: save], [name], log, finder)) { first, _ in first }
        }
        return uses
    }

    private func find(
        _ saves: [Identity: SubscriptionHistory.Entry], _ names: [SearchName], _ log: String, _ finder: any EventFinder
    ) throws -> [Identity: UInt64] {
        var uses: [Identity: UInt64] = [:]
        let start = saves.values.map(\.event.now).min() ?? .epoch
        let first = try LogScan.firstSequence(in: log, notBefore: start)
        try finder.events(in: log, from: first, through: .max, naming: names) { event in
            guard let sequence = event.json[.change]?.sequence else { return true }
            guard sequence < change else { return false }
            guard event.json[.type]?.equals(EventName.match) ?? false, let id = Identity(event.json),
                let save = saves[id], sequence > save.event.sequence, uses[id] == nil
            else { return true }
            uses[id] = sequence
            return uses.count < saves.count
        }
        return uses
    }
}
