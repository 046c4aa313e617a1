import Foundation
import TestSupport
import Testing
import Time

@testable import RecordStore

/// Measures a store with 50,000 records, or with the number of records in `BELFRY_RECORDS`. Prints the figures, and has
/// no limits for them. Run it with `BELFRY_TIER=full`, in a release build on an idle machine.
@Suite(.serialized) struct SpeedTests {
    private static let count = Int(ProcessInfo.processInfo.environment["BELFRY_RECORDS"] ?? "") ?? 50_000
    private static let batch = 200
    private let clock = ContinuousClock()

    @Test(.full) func `figures of applying, indexing and querying`() throws {
        let test = try TestStore(Folder(in: "/tmp"))
        let applied = try clock.measure { try fill(test) }
        print("apply: \(Int(Double(Self.count) / applied.seconds)) events a second")
        for query in Self.queries { _ = try run(query, test.store) }
        let built = try clock.measure { try test.finish(rowsMax: 1_000) }
        print("indexes of \(try test.store.indexes().map(\.field)): \(built)")
        #expect(try test.store.indexes().allSatisfy { $0.isComplete })
        for query in Self.queries { try measure(query, test.store) }
        print("apply with indexes: \(try clock.measure { try update(test, 20_000) } / 20_000) an event")
    }

    /// The event of a record with about 300 bytes of fields. `city` has a thousand different values, `half` two, `few`
    /// 40 and `stars` a million.
    private static func line(_ number: Int) -> String {
        var random = Seeded(UInt64(number))
        let fields =
            #"{"city":{"value":"city\#(random.below(1_000))","type":"STRING"},"half":{"value":\#(random.below(2))},"#
            + #""stars":{"value":\#(random.below(1_000_000)),"type":"INT64"},"few":{"value":\#(random.below(40))},"#
            + #""text":{"value":"\#(String(repeating: "some words ", count: 12))","type":"STRING"}}"#
        return Line.save("record-\(number)", fields, zone: "Z\(number % 10 == 0 ? 2 : 1)")
    }

    private func fill(_ test: TestStore) throws {
        for first in stride(from: 0, to: Self.count, by: Self.batch) {
            try test.apply((first..<(first + Self.batch)).map { Self.line($0) })
        }
    }

    private func update(_ test: TestStore, _ count: Int) throws {
        for first in stride(from: 0, to: count, by: Self.batch) {
            try test.apply((first..<(first + Self.batch)).map { Self.line($0).replacing("city", with: "town") })
        }
    }

    private static let queries = [
        #"{"recordType":"Note","filterBy":[{"comparator":"EQUALS","fieldName":"city","fieldValue":{"value":"city$"}}]}"#,
        #"{"recordType":"Note","filterBy":[{"comparator":"EQUALS","fieldName":"city","fieldValue":{"value":"city$"}}],"#
            + #""sortBy":[{"fieldName":"stars","ascending":false}]}"#,
        #"{"recordType":"Note","sortBy":[{"fieldName":"stars"}]}"#,
        #"{"recordType":"Note","filterBy":[{"comparator":"EQUALS","fieldName":"half","fieldValue":{"value":1}}],"#
            + #""sortBy":[{"fieldName":"stars"}]}"#,
        #"{"recordType":"Note","filterBy":[{"comparator":"EQUALS","fieldName":"few","fieldValue":{"value":7}}],"#
            + #""sortBy":[{"fieldName":"stars"}]}"#,
        #"{"recordType":"Note","filterBy":[{"comparator":"GREATER_THAN","fieldName":"stars","fieldValue":{"value":"#
            + #"999000}}],"sortBy":[{"fieldName":"___createTime"}]}"#,
    ]

    @discardableResult
    private func run(_ query: String, _ store: RecordStore, _ number: Int = 1) throws -> QueryPage {
        let text = query.replacing("city$", with: "city\(number)")
        return try store.query(
            RecordQuery(text, in: .one(ZoneKey(name: "Z1")), limit: 200), in: .alice, now: .epoch)
    }

    private func measure(_ query: String, _ store: RecordStore) throws {
        var times: [Duration] = []
        for number in 0..<200 { times.append(try clock.measure { try run(query, store, number) }) }
        times.sort()
        print("p50 \(times[100]), p99 \(times[198]): \(query)")
    }
}

extension Duration {
    fileprivate var seconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
