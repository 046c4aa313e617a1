import CloudKitModel
import JSON
import Predicates
import TestSupport
import Testing
import Time

@testable import RecordStore

struct QueryTests {
    /// The names of the matching records of `zones`, each after its zone's name and a slash, in the query's order.
    /// Evaluates the predicate for each record.
    private func bruteForce(_ query: String, _ zones: [ZoneKey], _ store: RecordStore) throws -> [String] {
        let read = try RecordQuery(query)
        let predicate = try withJSON(query) { try PredicateReader().read(query: $0).predicate }
        var found: [(name: String, position: RecordPosition)] = []
        for zone in zones {
            let page = try store.changes(of: zone, in: .alice, since: nil)
            for record in page.records where record.type == "Note" {
                let id = try store.rowID(of: record)
                // A query compares the stored fields. `json` has types that the stored fields lack.
                try withJSON(record.json()) { json in
                    try withJSON(record.fieldsText ?? "{}") { fields in
                        guard predicate.matches(fields, of: json, now: 50) else { return }
                        let keys = read.sort.map { $0.key(fields, record.system) }
                        found.append(("\(zone.name)/\(record.name)", RecordPosition(keys: keys, id: id)))
                    }
                }
            }
        }
        return found.sorted { read.order.precedes($0.position, $1.position) }.map(\.name)
    }

    private func namesPageByPage(
        _ query: String, _ zones: RecordQuery.Zones, limit: Int, _ store: RecordStore
    ) throws -> [String] {
        var (names, marker) = ([String](), nil as String?)
        repeat {
            let page = try store.query(
                RecordQuery(query, in: zones, limit: limit, marker: marker), in: .alice,
                now: Instant(microseconds: 50_000))
            names += page.records.map { "\($0.zone.name)/\($0.name)" }
            #expect(page.records.count == limit || page.marker == nil)
            marker = page.marker
        } while marker != nil
        return names
    }

    @Test(arguments: Seeded.seeds)
    func `a query finds exactly the matching records, with and without indexes, page by page`(seed: UInt64) throws {
        for round in 0..<UInt64(Tier.value(3, full: 20)) {
            var random = RandomQueries(seed &+ round &* 31_337)
            let test = try TestStore(searchLimits(&random.random))
            let names = (0..<12).map { "r\($0)" }
            for _ in 0..<6 {
                try test.apply((0..<15).map { _ in random.line(names) })
                for _ in 0..<15 { try checkOneQuery(&random, test) }
                // The writer builds indexes while records change.
                try test.writer.doMaintenance(rowsMax: 1 + random.random.below(5))
            }
            try test.finish()
            #expect(try test.store.indexes().contains { $0.isComplete })
            for _ in 0..<40 { try checkOneQuery(&random, test) }
        }
    }

    /// Often small limits, so that searches use all of their methods although there are few records.
    private func searchLimits(_ random: inout Seeded) -> SearchLimits {
        var limits = SearchLimits()
        if random.isOneIn(3) { return limits }
        (limits.rowsToSort, limits.candidatesInMemory) = (random.below(3), random.below(8))
        return limits
    }

    private func checkOneQuery(_ random: inout RandomQueries, _ test: TestStore) throws {
        let (query, store) = (random.query(), test.store)
        let all = try store.zones(in: .alice)
        let zone = random.random.one(of: all)
        let isWide = random.random.isOneIn(3)
        let expected = try bruteForce(query, isWide ? all : [zone], store)
        let limit = random.random.one(of: [1, 2, 3, 200])
        let found = try namesPageByPage(query, isWide ? .all : .one(zone), limit: limit, store)
        #expect(found == expected, "\(query) in \(isWide ? "all zones" : zone.name) by \(limit)")
        if random.random.isOneIn(3) { try test.requestIndexes(for: query, in: zone) }
    }

    @Test
    func `an index is built only on a field that a query uses, and only if the zone has many records of the type`()
        throws
    {
        let test = try TestStore()
        let notes = (0...SearchLimits().rowsWithoutIndex).map {
            Line.save("r\($0)", #"{"f":{"value":\#($0 % 7)},"g":{"value":1}}"#, zone: "Big")
        }
        try test.apply(notes + [Line.save("r", zone: "Small"), Line.save("o", type: "Other", zone: "Big")])
        let filter = #"{"comparator":"EQUALS","fieldName":"f","fieldValue":{"value":3}}"#
        for (zone, type) in [("Big", "Note"), ("Small", "Note"), ("Big", "Other")] {
            let query = #"{"recordType":"\#(type)","filterBy":[\#(filter)]}"#
            _ = try test.store.query(
                RecordQuery(query, in: .one(ZoneKey(name: zone))), in: .alice, now: .epoch)
        }
        try test.writer.doMaintenance(rowsMax: 100)
        #expect(try test.store.indexes().map(\.isComplete) == [false])
        try test.finish(rowsMax: 100)
        let indexes = try test.store.indexes()
        #expect(indexes.map(\.field) == ["f"] && indexes.map(\.zone.name) == ["Big"])
        #expect(indexes.map(\.recordType) == ["Note"] && indexes.map(\.isComplete) == [true])
    }

    @Test(arguments: [true, false])
    func `a query that compares one field and sorts by another gets an index on both fields`(isAscending: Bool) throws {
        let test = try TestStore()
        // In ascending order of "g", the records with "f" = 3 come last. Among these, the newest records come first.
        let count = 8 * SearchLimits().rowsWithoutIndex
        let numbers = 0..<count
        func g(_ number: Int) -> Int { (count - number) / 3 }
        try test.apply(
            numbers.map {
                Line.save(
                    "r\($0)", #"{"f":{"value":\#(3 - $0 * 4 / count)},"g":{"value":\#(g($0))}}"#, zone: "Big")
            })
        let query = #"""
            {"recordType":"Note","filterBy":[{"comparator":"EQUALS","fieldName":"f","fieldValue":{"value":3}}],
            "sortBy":[{"fieldName":"g","ascending":\#(isAscending)}]}
            """#
        let found = numbers.prefix(count / 4).sorted { (g($0), $0) < (g($1), $1) }.map { "r\($0)" }
        let expected = isAscending ? found : found.reversed()
        for fields in [[], ["f", "g"], ["f", "f,g", "g"], ["f", "f,g", "g"]] {
            try test.finish(rowsMax: 1_000)
            #expect(try test.store.indexes().map(\.field) == fields)
            var (names, marker) = ([String](), nil as String?)
            for limit in [7, 2, 5] {
                let page = try test.store.query(
                    RecordQuery(query, in: .one(ZoneKey(name: "Big")), limit: limit, marker: marker), in: .alice,
                    now: .epoch)
                names += page.records.map(\.name)
                marker = page.marker
            }
            #expect(names == Array(expected.prefix(14)))
        }
    }

    @Test func `each query for many fields adds only a few indexes, and a record type has at most 32`() throws {
        let test = try TestStore()
        try test.apply((0...SearchLimits().rowsWithoutIndex).map { Line.save("r\($0)", #"{"f":{"value":\#($0)}}"#) })
        let limits = SearchLimits()
        for round in 0..<12 {
            let filters = (0..<40).map {
                #"{"comparator":"NOT_EQUALS","fieldName":"x","fieldValue":{"value":0}},"#
                    + #"{"comparator":"LESS_THAN","fieldName":"none\#(round)_\#($0)","fieldValue":{"value":1}}"#
            }
            let query = #"{"recordType":"Note","filterBy":[\#(filters.joined(separator: ","))]}"#
            _ = try test.store.query(RecordQuery(query), in: .alice, now: .epoch)
            try test.finish(rowsMax: 10_000)
            let count = try test.store.indexes().count
            #expect(count <= min((round + 1) * limits.indexesOfSearchMax, limits.indexesOfTypeMax))
        }
        #expect(try test.store.indexes().count > limits.indexesOfSearchMax)
    }

    @Test func `a query without a zone searches the default zone, and an unknown zone is refused`() throws {
        let test = try TestStore()
        try test.apply([Line.save("a"), Line.save("b", zone: "Z")])
        let page = try test.store.query(RecordQuery(#"{"recordType":"Note"}"#), in: .alice, now: .epoch)
        #expect(page.records.map(\.name) == ["a"])
        #expect(throws: RecordReadError.zoneNotFound(ZoneKey(name: "Y"))) {
            try test.store.query(
                RecordQuery(#"{"recordType":"Note"}"#, in: .one(ZoneKey(name: "Y"))), in: .alice, now: .epoch)
        }
    }

    @Test(arguments: [
        (#"{}"#, "query.recordType"), (#"{"recordType":"No/te"}"#, "query.recordType"), (#"[]"#, "query"),
        (#"{"recordType":"N","filterBy":[{}]}"#, "query.filterBy[0].comparator"),
        (#"{"recordType":"N","sortBy":{}}"#, "query.sortBy"),
        (#"{"recordType":"N","sortBy":[{"fieldName":"a"},1]}"#, "query.sortBy[1]"),
        (#"{"recordType":"N","sortBy":[{"fieldName":"a","systemFieldName":"created"}]}"#, "query.sortBy[0]"),
        (#"{"recordType":"N","sortBy":[{"fieldName":"___what"}]}"#, "query.sortBy[0].fieldName"),
        (#"{"recordType":"N","sortBy":[{"systemFieldName":"a"}]}"#, "query.sortBy[0].systemFieldName"),
        (#"{"recordType":"N","sortBy":[{"fieldName":"a","ascending":1}]}"#, "query.sortBy[0].ascending"),
        (#"{"recordType":"N","sortBy":[{"fieldName":"a","asc":true}]}"#, "query.sortBy[0].asc"),
        (#"{"recordType":"N","sortBy":[{"fieldName":"a","relativeLocation":1}]}"#, "query.sortBy[0].relativeLocation"),
    ])
    func `a query that breaks a rule is refused with the path of the mistake`(query: String, path: String) throws {
        let refusal = try #require(throws: QueryRefusal.self) { try RecordQuery(query) }
        #expect(refusal.path == path)
        #expect(throws: QueryRefusal.self) { try RecordQuery(#"{"recordType":"N"}"#, limit: 201) }
        #expect(throws: QueryRefusal.self) { try RecordQuery(#"{"recordType":"N"}"#, limit: 0) }
    }
}

struct MarkerTests {
    private static let query = #"{"recordType":"Note","sortBy":[{"fieldName":"f"}]}"#

    private func marker(_ store: RecordStore) throws -> String {
        let page = try store.query(RecordQuery(Self.query, limit: 1), in: .alice, now: .epoch)
        return try #require(page.marker)
    }

    private func isRefused(
        _ marker: String, _ store: RecordStore, _ queryText: String = query,
        in zones: RecordQuery.Zones = .one(.defaultZone), of database: DatabaseID = .alice
    ) throws -> Bool {
        let query = try RecordQuery(queryText, in: zones, marker: marker)
        do throws(RecordReadError) {
            _ = try store.query(query, in: database, now: .epoch)
            return false
        } catch { return error == .badQuery(.marker) }
    }

    @Test func `a marker is refused if one character is changed, and for another query, zone or database`() throws {
        let test = try TestStore()
        try test.apply([Line.save("a"), Line.save("b"), Line.saveZone("Z")])
        let marker = try marker(test.store)
        #expect(try !isRefused(marker, test.store))
        // White space and the order of members do not change a query.
        #expect(try !isRefused(marker, test.store, #"{ "sortBy":[{"fieldName":"f"}],"recordType":"Note" }"#))
        for index in marker.indices {
            for other in ["A", "z", "-", "=", "é", ""] where String(marker[index]) != other {
                let altered = marker.replacingCharacters(in: index...index, with: other)
                #expect(try isRefused(altered, test.store), "\(altered)")
            }
        }
        for text in ["", "AAAA", marker + marker, marker + "A"] { #expect(try isRefused(text, test.store)) }
        #expect(try isRefused(marker, test.store, #"{"recordType":"Note"}"#))
        #expect(try isRefused(marker, test.store, in: .all))
        #expect(try isRefused(marker, test.store, in: .one(ZoneKey(name: "Z"))))
        let bob = DatabaseID(
            container: DatabaseID.alice.container, environment: .development, scope: .private, owner: "_bob")
        #expect(try isRefused(marker, test.store, of: bob))
    }

    @Test func `a query continues after a marker whose record was deleted, also in a rebuilt store`() throws {
        let (test, rebuilt) = (try TestStore(), try TestStore())
        let lines = ["a", "b", "c"].map { Line.save($0) } + [Line.delete("a")]
        try test.apply(Array(lines[..<3]))
        let marker = try marker(test.store)
        try test.apply(Array(lines[3...]))
        try rebuilt.apply(lines)
        for store in [test.store, rebuilt.store] {
            let page = try store.query(RecordQuery(Self.query, marker: marker), in: .alice, now: .epoch)
            #expect(page.records.map(\.name) == ["b", "c"])
        }
    }
}

struct OrderKeyTests {
    private func key(_ field: String) throws -> [UInt8] { try withJSON(field) { OrderKey.of(field: $0) } }

    @Test func `integers and floating-point numbers are in one exact order`() throws {
        let ascending = [
            "-1e308", "-9223372036854775808", "-9223372036854775807", "-2.5", "-2", "-1e-300", "0", "5e-324", "0.5",
            "1", "9007199254740991", "9007199254740992", "9007199254740993", "9223372036854775806",
            "9223372036854775807", "9223372036854775808", "1e300",
        ]
        let keys = try ascending.map { try key(#"{"value":\#($0)}"#) }
        for (one, other) in zip(keys, keys.dropFirst()) { #expect(one.lexicographicallyPrecedes(other)) }
        #expect(try key(#"{"value":-0.0}"#) == key(#"{"value":0}"#))
        #expect(try key(#"{"value":3.0}"#) == key(#"{"value":3}"#))
    }

    @Test func `values are ordered by type: none, number, string, bytes, reference, others`() throws {
        let ascending = [
            #"{}"#, #"{"value":7}"#, #"{"value":""}"#, #"{"value":"a"}"#, #"{"value":"QQ==","type":"BYTES"}"#,
            #"{"value":{"recordName":"a"}}"#, #"{"value":[1]}"#,
        ]
        let keys = try ascending.map { try key($0) }
        for (one, other) in zip(keys, keys.dropFirst()) { #expect(one.lexicographicallyPrecedes(other)) }
        #expect(try key(#"{"value":null}"#) == key(#"{}"#))
        #expect(try key(#"{"value":[2]}"#) == key(#"{"value":{"latitude":1,"longitude":2}}"#))
    }
}

extension RecordStore {
    /// The ID of a record's row.
    func rowID(of record: StoredRecord) throws -> Int64 {
        try read { db in
            try db.prepared("SELECT id FROM records WHERE sequence = ?").first([.sequence(record.sequence)]) {
                $0.int(0)
            }
        } ?? 0
    }
}

extension TestStore {
    /// Asks for an index on every field that the query compares or sorts by, and for indexes on two of these fields,
    /// even if the query could not use them.
    func requestIndexes(for query: String, in zone: ZoneKey) throws {
        let read = try RecordQuery(query)
        let id = try store.read { try StoredZone.find(zone, in: .alice, $0)?.id }
        let compared = read.predicate.clauses.map(\.subject).filter { $0 != .allText }
        guard let id else { return }
        store.wantedIndexes.withLock { wanted in
            for subject in compared + read.sort.map(\.subject) {
                wanted.insert(FieldIndex(zone: id, type: "Note", subject: subject))
            }
            for (subject, second) in zip(compared, read.sort.map(\.subject)) {
                wanted.insert(FieldIndex(zone: id, type: "Note", subject: subject, second: second))
            }
        }
    }
}
