import Events
import JSON

/// The changes that used up subscriptions of one user that fire once: for each the first recorded match after it was
/// saved.
struct FiresOnceUses {
    typealias Identity = SubscriptionHistory.Identity

    /// The last saves of those that fire once.
    private let saves: [Identity: SubscriptionHistory.Entry]
    private let change: UInt64

    /// For so many, each is looked for by itself; for more, all matches of the user are gone through once.
    private static let soughtAloneMax = 8

    /// - Parameter histories: Of one user.
    init(of histories: [SubscriptionHistory], before change: UInt64) {
        var saves: [Identity: SubscriptionHistory.Entry] = [:]
        for history in histories {
            guard let last = history.last(before: change), last.isSave, last.firesOnce else { continue }
            saves[history.identity] = last
        }
        (self.saves, self.change) = (saves, change)
    }

    /// None for those that have not fired.
    func find(in logs: RecordedLogs, _ finder: any EventFinder) throws -> [Identity: UInt64] {
        guard let user = saves.keys.first?.user, let log = logs.existingLog(.matches) else { return [:] }
        guard saves.count <= FiresOnceUses.soughtAloneMax else {
            return try find(saves, [.receiver(user)], log, finder)
        }
        var spenders: [Identity: UInt64] = [:]
        for (id, save) in saves {
            let names = [SoughtName.userSubscription(user: id.user, id.subscriptionID)]
            spenders.merge(try find([id: save], names, log, finder)) { first, _ in first }
        }
        return spenders
    }

    private func find(
        _ saves: [Identity: SubscriptionHistory.Entry], _ names: [SoughtName], _ log: String, _ finder: any EventFinder
    ) throws -> [Identity: UInt64] {
        var spenders: [Identity: UInt64] = [:]
        let start = saves.values.map(\.event.now).min() ?? .epoch
        let first = try LogScan.firstSequence(in: log, notBefore: start)
        try finder.events(in: log, from: first, through: .max, naming: names) { event in
            guard let sequence = event.json[.change]?.sequence else { return true }
            guard sequence < change else { return false }
            guard event.json[.type]?.equals(EventName.match) ?? false, let id = Identity(event.json),
                let save = saves[id],
                sequence > save.event.sequence, spenders[id] == nil
            else { return true }
            spenders[id] = sequence
            return spenders.count < saves.count
        }
        return spenders
    }
}
