import CloudKitModel
import TestSupport
import Testing
import Time

@testable import RecordStore

/// The limit of bytes for the records, subscriptions or zones of one answer.
struct AnswerSizeTests {
    private static let bytesMax = 100
    private static let names = (0..<6).map { "r\($0)" }

    /// Records with 10 to 159 bytes of fields.
    private func store(_ random: inout Seeded) throws -> TestStore {
        let test = try TestStore(Folder(), answerBytesMax: AnswerSizeTests.bytesMax)
        let lines = AnswerSizeTests.names.map { name in
            Line.save(name, #"{"f":"\#(String(repeating: "x", count: 2 + random.below(150)))"}"#, zone: "Z")
        }
        try test.apply([Line.saveZone("Z")] + lines)
        return test
    }

    private func check(_ records: [StoredRecord]) {
        let bytes = records.map { $0.fields?.count ?? 0 }
        #expect(records.count == 1 || bytes.reduce(0, +) <= AnswerSizeTests.bytesMax, "\(bytes)")
    }

    @Test(arguments: Seeded.seeds, [false, true])
    func `a page of changes is within the byte limit or has one record, and no record is missing`(
        seed: UInt64, isReverse: Bool
    ) throws {
        var random = Seeded(seed)
        let test = try store(&random)
        var (names, token, moreComing) = ([String](), nil as String?, true)
        while moreComing {
            let page = try test.store.changes(of: ZoneKey(name: "Z"), in: .alice, since: token, isReverse: isReverse)
            check(page.records)
            names += page.records.map(\.name)
            (token, moreComing) = (page.token, page.moreComing)
        }
        #expect(names == (isReverse ? AnswerSizeTests.names.reversed() : AnswerSizeTests.names))
    }

    @Test(arguments: Seeded.seeds)
    func `a page of a query is within the byte limit or has one record, and no record is missing`(seed: UInt64) throws {
        var random = Seeded(seed)
        let test = try store(&random)
        var (names, marker) = ([String](), nil as String?)
        repeat {
            let query = try RecordQuery(
                #"{"recordType":"Note"}"#, in: .one(ZoneKey(name: "Z")), limit: 4, marker: marker)
            let page = try test.store.query(query, in: .alice, now: Instant(microseconds: 0))
            check(page.records)
            names += page.records.map(\.name)
            marker = page.marker
        } while marker != nil
        #expect(names == AnswerSizeTests.names)
    }

    @Test func `a lookup of records beyond the limit is refused, and one at the limit is answered`() throws {
        let test = try TestStore(Folder(), answerBytesMax: 24)
        try test.apply(["a", "b", "c"].map { Line.save($0, #"{"f":"1234"}"#) })
        #expect(try test.store.records(named: ["a", "c"], of: .alice).compactMap { $0?.fields?.count } == [12, 12])
        #expect(throws: RecordReadError.answerTooLong(bytesMax: 24)) {
            try test.store.records(named: ["a", "b", "c"], of: .alice)
        }
    }

    @Test func `a list or a lookup of subscriptions beyond the limit is refused, and one at the limit is answered`()
        throws
    {
        let alice = AccountID(container: "iCloud.a", environment: .production, user: "_alice")
        let test = try TestStore(Folder(), answerBytesMax: 50)
        // 25 bytes each.
        func save(_ id: String) -> String {
            #"{"type":"subscription.save","container":"iCloud.a","environment":"production","database":"private","#
                + #""user":"_alice","subscription":{"subscriptionID":"\#(id)123"}}"#
        }
        try test.apply(["b", "a"].map(save))
        #expect(try test.store.subscriptions(of: alice, in: .private).map(\.id) == ["b123", "a123"])
        try test.apply([save("c")])
        let tooLong = RecordReadError.answerTooLong(bytesMax: 50)
        #expect(throws: tooLong) { try test.store.subscriptions(of: alice, in: .private) }
        let found = try test.store.subscriptions(withIDs: ["c123", "none", "a123"], of: alice, in: .private)
        #expect(found.map(\.?.id) == ["c123", nil, "a123"])
        #expect(throws: tooLong) {
            try test.store.subscriptions(withIDs: ["a123", "b123", "c123"], of: alice, in: .private)
        }
    }

    @Test func `a list of zones beyond the limit is refused`() throws {
        let test = try TestStore(Folder(), answerBytesMax: 140)
        try test.apply([Line.saveZone("A"), Line.saveZone("B")])
        #expect(try test.store.zones(in: .alice).map(\.name) == ["_defaultZone", "A", "B"])
        try test.apply([Line.saveZone("C")])
        #expect(throws: RecordReadError.answerTooLong(bytesMax: 140)) { try test.store.zones(in: .alice) }
    }
}
