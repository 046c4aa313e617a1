import JSON
import TestSupport
import Testing

@testable import Match

struct IndexPropertyTests {
    @Test func `deleting all subscriptions leaves no list in the index`() throws {
        var random = Seeded(9)
        var index = SubscriptionIndex()
        for sequence in UInt64(1)...500 {
            try save(DrawnSubscription(.wide, &random).line, &index, at: sequence)
        }
        let slots = index.store.slots
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
