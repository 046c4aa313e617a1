import JSON
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
        var slots: [Int32] = []
        for sequence in UInt64(1)...500 {
            try save(PlainSubscription(drawnBy: &random).line, &index, at: sequence)
        }
        slots = index.store.slots
        #expect(index.forest.count > 50)
        for slot in slots { index.delete(slot) }
        #expect(index.count == 0)
        #expect(index.forest.count == 0)
    }

    private func save(_ line: String, _ index: inout SubscriptionIndex, at sequence: UInt64) throws {
        var parser = JSONParser()
        var line = line
        try line.withUTF8 {
            let json = try parser.parse(UnsafeRawBufferPointer($0))
            try index.save(SubscriptionReader.subscription(json), at: sequence)
        }
    }
}

extension PlainSubscription {
    fileprivate func isSame(as other: PlainSubscription) -> Bool {
        (id, user, database) == (other.id, other.user, other.database)
    }
}
