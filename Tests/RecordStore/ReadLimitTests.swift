import Synchronization
import TestSupport
import Testing

@testable import RecordStore

/// Reads that are cancelled, or that take too long.
struct ReadLimitTests {
    /// The store asks from time to time whether a read may go on. This limit stops the read at question `number`,
    /// counted from 1.
    private final class StoppingLimit: Sendable {
        let questions = Mutex(0)
        private let (number, reason): (Int, ReadStop)

        init(at number: Int, _ reason: ReadStop) { (self.number, self.reason) = (number, reason) }

        var limit: ReadLimit {
            ReadLimit { [self] in
                questions.withLock { count in
                    count += 1
                    return count >= number ? reason : nil
                }
            }
        }
    }

    private static let filter = #"{"comparator":"NOT_LIST_CONTAINS","fieldName":"f","fieldValue":{"value":-1}}"#
    private static let query = #"{"recordType":"Note","filterBy":[\#(filter)]}"#

    /// 500 records with lists of a hundred elements.
    private static func store() throws -> TestStore {
        let test = try TestStore()
        let list = (100..<200).map(String.init).joined(separator: ",")
        try test.apply((0..<500).map { Line.save("r\($0)", #"{"f":{"value":[\#(list)]}}"#, zone: "Z") })
        return test
    }

    private static func run(
        _ text: String, _ test: TestStore, in zone: String = "Z", within limit: ReadLimit = .none
    ) throws -> QueryPage {
        try test.store.query(
            RecordQuery(text, in: .one(ZoneKey(name: zone))), in: .alice, now: .epoch, within: limit)
    }

    @Test(arguments: [1, 2, 3])
    func `a cancelled query ends, and its connection can be used again`(number: Int) throws {
        let test = try Self.store()
        for _ in 0..<10 {
            let limit = StoppingLimit(at: number, .cancelled)
            #expect(throws: RecordReadError.cancelled) { try Self.run(Self.query, test, within: limit.limit) }
            #expect(limit.questions.withLock(\.self) == number, "the store asks again after it was told to stop")
            #expect(try Self.run(Self.query, test).records.count == 200)
        }
        // No read that was cancelled holds an old state of the store.
        try test.apply([Line.save("new", zone: "Z")])
        #expect(try Self.run(#"{"recordType":"Note","sortBy":[{"fieldName":"f"}]}"#, test).records.first?.name == "new")
    }

    @Test func `a query that takes too long is refused, and the next query works`() throws {
        let test = try Self.store()
        let limit = StoppingLimit(at: 2, .tookTooLong)
        #expect(throws: RecordReadError.tookTooLong(lacksIndex: false)) {
            try Self.run(Self.query, test, within: limit.limit)
        }
        #expect(try Self.run(Self.query, test).records.count == 200)
        try test.finish()
        #expect(try test.store.indexes().isEmpty, "no index helps a search of lists")
    }

    @Test func `a query that takes too long asks for the index that it lacks`() throws {
        let test = try Self.store()
        let filter = #"{"comparator":"EQUALS","fieldName":"g","fieldValue":{"value":3}}"#
        let query = #"{"recordType":"Note","filterBy":[\#(Self.filter),\#(filter)]}"#
        #expect(throws: RecordReadError.tookTooLong(lacksIndex: true)) {
            try Self.run(query, test, within: StoppingLimit(at: 2, .tookTooLong).limit)
        }
        try test.finish(rowsMax: 100)
        #expect(try test.store.indexes().map(\.field) == ["g"])
        // With the index, the query has little to do. If it takes too long even so, the error says that no index is
        // missing.
        #expect(try Self.run(query, test, within: StoppingLimit(at: 2, .tookTooLong).limit).records.isEmpty)
        #expect(throws: RecordReadError.tookTooLong(lacksIndex: false)) {
            try Self.run(query, test, within: StoppingLimit(at: 1, .tookTooLong).limit)
        }
    }

    @Test func `the comparisons of one record with a long list can be stopped`() throws {
        let test = try TestStore()
        let list = (0..<10_000).map(String.init).joined(separator: ",")
        try test.apply([Line.save("r", #"{"f":{"value":[\#(list)]}}"#, zone: "Z")])
        let filters = [String](repeating: Self.filter, count: 50).joined(separator: ",")
        let limit = StoppingLimit(at: 20, .cancelled)
        #expect(throws: RecordReadError.cancelled) {
            try Self.run(#"{"recordType":"Note","filterBy":[\#(filters)]}"#, test, within: limit.limit)
        }
    }

    @Test func `a read that finds only deleted records, and skips them, can be stopped`() throws {
        let test = try Self.store()
        try test.apply((0..<500).map { Line.delete("r\($0)", zone: "Z") })
        let zone = ZoneKey(name: "Z")
        #expect(throws: RecordReadError.cancelled) {
            try test.store.changes(
                of: zone, in: .alice, since: nil, within: StoppingLimit(at: 2, .cancelled).limit)
        }
        #expect(try test.store.changes(of: zone, in: .alice, since: nil).records.isEmpty)
    }

    @Test func `a read of changes can be stopped`() throws {
        let test = try Self.store()
        try test.apply((0..<300).map { Line.saveZone("Z\($0)") })
        for number in [1, 2] {
            #expect(throws: RecordReadError.cancelled) {
                try test.store.changes(
                    of: ZoneKey(name: "Z"), in: .alice, since: nil, recordTypes: ["Other"],
                    within: StoppingLimit(at: number, .cancelled).limit)
            }
            #expect(throws: RecordReadError.cancelled) {
                try test.store.databaseChanges(
                    in: .alice, since: nil, within: StoppingLimit(at: number, .cancelled).limit)
            }
        }
        #expect(try test.store.changes(of: ZoneKey(name: "Z"), in: .alice, since: nil).records.count == 200)
    }
}
