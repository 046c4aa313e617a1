import TestSupport
import Testing

@testable import Match

struct IndexPropertyTests {
    @Test(arguments: [UInt64(1), 2, 3, 4])
    func `the index finds what looking at every subscription finds, through saves and deletes`(seed: UInt64) throws {
        var random = Seeded(seed)
        var feed = try Feed()
        var saved: [PlainSubscription] = []
        var matches = 0
        for step in 0..<3000 {
            switch random.below(10) {
            case 0..<3:
                let subscription = PlainSubscription(drawnBy: &random)
                saved.removeAll { $0.isSame(as: subscription) }
                saved.append(subscription)
                _ = try feed.send(subscription.line)
            case 3:
                guard let gone = saved.randomElement(using: &random) else { continue }
                saved.removeAll { $0.isSame(as: gone) }
                _ = try feed.send(Line.remove(id: gone.id, database: gone.database, user: gone.user))
            default:
                let change = PlainChange(drawnBy: &random)
                let expected = saved.filter { $0.watches(change) }
                try #require(try feed.watchers(change.line) == expected.map(\.id), "seed \(seed), step \(step)")
                saved.removeAll { one in one.firesOnce && expected.contains { $0.isSame(as: one) } }
                matches += expected.count
            }
        }
        #expect(feed.rejections == [])
        #expect(matches > 1000, "seed \(seed)")
    }

    @Test func `deleting everything leaves no list behind`() throws {
        var random = Seeded(9)
        var index = SubscriptionIndex()
        var identities: [Subscription.Identity] = []
        for sequence in UInt64(1)...500 {
            let line = PlainSubscription(drawnBy: &random).line
            let subscription = try read(line)
            identities.append(subscription.identity)
            index.save(subscription, at: sequence)
        }
        #expect(index.lists.count > 50)
        for identity in identities { index.delete(identity) }
        #expect(index.count == 0)
        #expect(index.lists.count == 0)
    }
}

extension PlainSubscription {
    fileprivate func isSame(as other: PlainSubscription) -> Bool {
        (id, user, database) == (other.id, other.user, other.database)
    }
}
