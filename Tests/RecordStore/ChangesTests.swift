import CloudKitModel
import TestSupport
import Testing
import Time

@testable import RecordStore

/// A client that keeps a copy of a zone by reading its changes.
private struct Replica {
    let zone: ZoneKey
    var records: [String: String] = [:]
    var token: String?
    /// Whether the last page said that another page follows. True before the first page.
    var moreComing = true

    /// - Returns: Whether the zone exists.
    mutating func readPage(_ store: RecordStore, limit: Int, isReverse: Bool) throws -> Bool {
        do throws(RecordReadError) {
            let page = try store.changes(of: zone, in: .alice, since: token, limit: limit, isReverse: isReverse)
            for record in page.records { records[record.name] = record.fieldsText }
            (token, moreComing) = (page.token, page.moreComing)
            return true
        } catch {
            (records, token, moreComing) = ([:], nil, true)
            guard case .tokenExpired = error else {
                guard case .zoneNotFound = error else { throw error }
                return false
            }
            return try readPage(store, limit: limit, isReverse: isReverse)
        }
    }
}

struct ChangesTests {
    @Test(arguments: Seeded.seeds)
    func `a client that reads changes at random times has the zone's records in the end`(seed: UInt64) throws {
        for round in 0..<UInt64(Tier.value(5, full: 40)) {
            var random = Seeded(seed &+ round &* 15_485_863)
            let test = try TestStore()
            var living: [String: [String: String]] = ["Z1": [:], "Z2": [:]]
            try test.apply(living.keys.sorted().map { Line.saveZone($0) })
            var replicas = ["Z1", "Z1", "Z2"].map { Replica(zone: ZoneKey(name: $0)) }
            let isReverse = random.isOneIn(2)
            for _ in 0..<200 {
                try step(&random, test, &living)
                let index = random.below(replicas.count)
                _ = try replicas[index].readPage(test.store, limit: 1 + random.below(4), isReverse: isReverse)
            }
            for index in replicas.indices {
                let zone = replicas[index].zone.name
                repeat {
                    guard try replicas[index].readPage(test.store, limit: 2, isReverse: isReverse) else { break }
                } while replicas[index].moreComing
                #expect(replicas[index].records == living[zone] ?? [:], "seed \(seed), round \(round)")
            }
        }
    }

    private func step(_ random: inout Seeded, _ test: TestStore, _ living: inout [String: [String: String]]) throws {
        let (zone, name) = (random.one(of: ["Z1", "Z2"]), "r\(random.below(12))")
        switch random.below(30) {
        case 0:
            try test.apply([Line.deleteZone(zone)])
            living[zone] = nil
        case 1: try test.writer.forget(before: test.next - UInt64(random.below(Int(min(test.next, 8)))))
        case 2...5: try test.writer.doMaintenance(rowsMax: 2)
        case 6...12:
            try test.apply([Line.delete(name, zone: zone)])
            living[zone]?[name] = nil
        default:
            let fields = #"{"f":{"value":\#(test.next)}}"#
            try test.apply([Line.save(name, fields, zone: zone)])
            living[zone, default: [:]][name] = fields
        }
    }

    /// Compares a client's list of zones with the zones that exist.
    @Test(arguments: Seeded.seeds)
    func `a client that reads a database's changes has the database's zones in the end`(seed: UInt64) throws {
        for round in 0..<UInt64(Tier.value(5, full: 40)) {
            var random = Seeded(seed &+ round &* 32_452_843)
            let test = try TestStore()
            var (zones, token) = (Set<String>(), nil as String?)
            var living: Set<String> = []
            for step in 0..<150 {
                let name = "Z\(random.below(6))"
                switch random.below(5) {
                case 0:
                    try test.apply([Line.deleteZone(name)])
                    living.remove(name)
                case 1: try test.apply([Line.save("a"), Line.delete("b", zone: name)])
                case 2: try test.writer.doMaintenance(rowsMax: 2)
                default:
                    try test.apply([random.isOneIn(2) ? Line.saveZone(name) : Line.save("a", zone: name)])
                    living.insert(name)
                }
                let isLast = step == 149
                guard isLast || random.isOneIn(4) else { continue }
                var page: DatabaseChangesPage
                repeat {
                    page = try test.store.databaseChanges(in: .alice, since: token, limit: 1 + random.below(3))
                    for zone in page.zones {
                        if zone.isDeleted { zones.remove(zone.key.name) } else { zones.insert(zone.key.name) }
                    }
                    token = page.token
                } while isLast && page.moreComing
            }
            #expect(zones == living, "seed \(seed), round \(round)")
        }
    }

    @Test func `each record is returned once, in the order of its newest change, and marked if it is deleted`() throws {
        let test = try TestStore()
        try test.apply(["a", "b", "c", "d"].map { Line.save($0, zone: "Z") })
        let zone = ZoneKey(name: "Z")
        let first = try test.store.changes(of: zone, in: .alice, since: nil)
        #expect(first.records.map(\.name) == ["a", "b", "c", "d"] && !first.moreComing)
        try test.apply([
            Line.save("b", zone: "Z"), Line.delete("c", zone: "Z"), Line.save("b", type: "Other", zone: "Z"),
        ])
        let next = try test.store.changes(of: zone, in: .alice, since: first.token)
        #expect(next.records.map(\.name) == ["c", "b"] && next.records.map(\.isDeleted) == [true, false])
        #expect(
            next.records[0].json()
                == #"{"recordName":"c","deleted":true,"zoneID":{"zoneName":"Z","ownerRecordName":"_alice"}}"#)
        let others = try test.store.changes(of: zone, in: .alice, since: first.token, recordTypes: ["Other"])
        #expect(others.records.map(\.name) == ["b"])
        let reverse = try test.store.changes(of: zone, in: .alice, since: first.token, limit: 1, isReverse: true)
        #expect(reverse.records.map(\.name) == ["b"] && reverse.moreComing)
        let fresh = try test.store.changes(of: zone, in: .alice, since: nil)
        #expect(fresh.records.map(\.name) == ["a", "d", "b"])
    }
}

struct TokenTests {
    private let zone = ZoneKey(name: "Z")

    private func error(_ token: String, _ zone: ZoneKey, of database: DatabaseID = .alice, _ store: RecordStore)
        -> RecordReadError?
    {
        do throws(RecordReadError) {
            _ = try store.changes(of: zone, in: database, since: token)
            return nil
        } catch { return error }
    }

    @Test func `a token is refused if one character is changed, and for another zone or database`() throws {
        let test = try TestStore()
        let bob = DatabaseID(
            container: DatabaseID.alice.container, environment: .development, scope: .private, owner: "_bob")
        try test.apply([Line.saveZone("Z"), Line.saveZone("Y"), Line.saveZone("Z", in: bob)])
        let token = try test.store.changeToken(of: zone, in: .alice)
        #expect(error(token, zone, test.store) == nil)
        for index in token.indices {
            for other in ["A", "z", "-", ""] where String(token[index]) != other {
                let altered = token.replacingCharacters(in: index...index, with: other)
                #expect(error(altered, zone, test.store) == .badToken, "\(altered)")
            }
        }
        #expect(error(token, ZoneKey(name: "Y"), test.store) == .badToken)
        #expect(error(token, zone, of: bob, test.store) == .badToken)
        let ofDatabase = try test.store.changeToken(of: nil, in: .alice)
        #expect(error(ofDatabase, zone, test.store) == .badToken)
        #expect(throws: RecordReadError.badToken) { try test.store.databaseChanges(in: .alice, since: token) }
    }

    @Test func `a token is valid for a rebuilt store, and expires for a store that lags or follows another log`() throws
    {
        let (test, rebuilt) = (try TestStore(), try TestStore())
        let lines = [Line.saveZone("Z"), Line.save("a", zone: "Z"), Line.save("b", zone: "Z")]
        try test.apply(lines)
        let token = try test.store.changes(of: zone, in: .alice, since: nil, limit: 1).token
        let last = try test.store.changeToken(of: zone, in: .alice)
        try rebuilt.apply(Array(lines[..<2]))
        #expect(error(last, zone, rebuilt.store) == .tokenExpired(.ahead))
        try rebuilt.apply([lines[2]])
        #expect(error(last, zone, rebuilt.store) == nil)
        #expect(try rebuilt.store.changes(of: zone, in: .alice, since: token).records.map(\.name) == ["b"])
        let other = try RecordStore(
            path: test.folder.file("other.sqlite"), log: LogIdentity(seed: "other", name: "changes"))
        _ = try RecordWriter(other).apply([EventBatch(lines, first: 1, milliseconds: 1)])
        #expect(error(token, zone, other) == .tokenExpired(.otherLog))
    }

    @Test func `a token expires when deletions after it are forgotten, and when its zone is created again`() throws {
        let test = try TestStore()
        try test.apply([Line.saveZone("Z"), Line.save("a", zone: "Z")])
        let token = try test.store.changeToken(of: zone, in: .alice)
        try test.apply([Line.delete("a", zone: "Z"), Line.save("b", zone: "Z"), Line.save("c", zone: "Z")])
        let page = try test.store.changes(of: zone, in: .alice, since: nil, limit: 1)
        try test.writer.forget(before: 3)
        #expect(error(token, zone, test.store) == nil)
        try test.writer.forget(before: 4)
        #expect(error(token, zone, test.store) == .tokenExpired(.tooOld))
        // This client began without a token after the deletion, so it never got the deleted record.
        #expect(error(page.token, zone, test.store) == nil)
        let last = try test.store.changeToken(of: zone, in: .alice)
        try test.apply([Line.deleteZone("Z")])
        #expect(error(last, zone, test.store) == .zoneNotFound(zone))
        try test.apply([Line.saveZone("Z")])
        #expect(error(last, zone, test.store) == .tokenExpired(.newZone))
    }

    @Test func `a forged token is refused, or gives a page of the client's own records`() throws {
        let test = try TestStore()
        try test.apply([Line.saveZone("Z"), Line.save("a", zone: "Z"), Line.save("b", zone: "Z")])
        let numbers: [UInt64] = [0, 1, 3, 4, UInt64(Int64.max), UInt64(Int64.max) + 1, .max]
        var pages = 0
        for (position, began) in numbers.flatMap({ first in numbers.map { (first, $0) } }) {
            for (below, top) in numbers.flatMap({ first in numbers.map { (first, $0) } }) {
                var forged = ChangeToken(log: testLog, position: position, began: began)
                forged.reverse = .init(below: below, top: top)
                let token = forged.text(for: zone, in: .alice)
                for isReverse in [false, true] {
                    do throws(RecordReadError) {
                        let page = try test.store.changes(of: zone, in: .alice, since: token, isReverse: isReverse)
                        #expect(page.records.allSatisfy { ["a", "b"].contains($0.name) })
                        pages += 1
                    } catch {
                        let expected = [RecordReadError.badToken, .tokenExpired(.ahead), .tokenExpired(.newZone)]
                        #expect(expected.contains(error), "\(forged)")
                    }
                }
            }
        }
        #expect(pages > 0)
    }

    @Test func `a store of a trimmed log refuses tokens from before the log's first event`() throws {
        let test = try TestStore()
        let batch = EventBatch([Line.saveZone("Z"), Line.save("a", zone: "Z")], first: 100, milliseconds: 1)
        _ = try test.writer.apply([batch])
        let old = ChangeToken(log: testLog, position: 50).text(for: nil, in: .alice)
        #expect(throws: RecordReadError.tokenExpired(.tooOld)) {
            try test.store.databaseChanges(in: .alice, since: old)
        }
        #expect(try test.store.changes(of: zone, in: .alice, since: nil).records.map(\.name) == ["a"])
    }
}
