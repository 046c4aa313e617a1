import CloudKitModel
import TestSupport
import Testing
import Time

@testable import RecordStore

/// Compares stores with ``StoreModel`` on random histories.
struct ModelTests {
    @Test(arguments: Seeded.seeds)
    func `zones, records, references, assets, users, subscriptions and devices are those of the model`(
        seed: UInt64
    ) throws {
        for round in 0..<UInt64(Tier.value(4, full: 30)) {
            let (test, model) = try storeAndModel(seed &+ round &* 7_919, events: 150)
            try check(test.store, model)
            try test.finish()
            try check(test.store, model)
        }
    }

    /// A store that applied a random history, in batches of random lengths, and the model of this history.
    private func storeAndModel(_ seed: UInt64, events: Int) throws -> (TestStore, StoreModel) {
        var (history, random) = (RandomHistory(seed), Seeded(seed &+ 1))
        var model = StoreModel()
        let test = try TestStore()
        var lines: [String] = []
        for sequence in 1...UInt64(events) {
            let change = history.change()
            lines.append(change.line)
            // All events of a batch have one time.
            model.apply(change, sequence, milliseconds: Int64(test.next))
            if random.isOneIn(4) {
                try test.apply(lines)
                lines = []
                if random.isOneIn(3) { try test.writer.doMaintenance(rowsMax: 2) }
            }
        }
        try test.apply(lines)
        return (test, model)
    }

    private func check(_ store: RecordStore, _ model: StoreModel) throws {
        for database in RandomHistory.databases {
            let expected = model.databases[database] ?? StoreModel.Database()
            #expect(
                Set(try store.zones(in: database)) == Set(expected.zones.keys).union([.defaultZone]), "\(database)")
            let custom = expected.zones.keys.filter { !$0.isDefault }
            let saved = try store.savedZones(among: RandomHistory.zones(of: database), in: database)
            #expect(saved == SavedItems(count: custom.count, known: Set(custom + [.defaultZone])), "\(database)")
            for zone in RandomHistory.zones { try check(store, zone, database, expected.zones[zone]) }
        }
        for account in RandomHistory.accounts { try check(store, account, model) }
        try checkBrokenReferences(store, model)
        for asset in RandomHistory.assets {
            let databases = model.databases.filter { $0.value.livingRecords.contains { $0.assets.contains(asset) } }
            let count = model.databases.values.flatMap(\.livingRecords).count { $0.assets.contains(asset) }
            #expect(try store.referenceCount(ofAsset: asset) == count)
            #expect(try store.unreferencedAssets(among: [asset]).isEmpty == (count > 0))
            for database in RandomHistory.databases {
                #expect(try store.hasAsset(asset, in: database) == (databases[database] != nil))
            }
        }
    }

    private func check(
        _ store: RecordStore, _ zone: ZoneKey, _ database: DatabaseID, _ expected: StoreModel.Zone?
    ) throws {
        // Only shared databases have zones of several owners.
        guard zone.owner == nil || database.scope == .shared else { return }
        guard expected != nil || zone.isDefault else {
            #expect(throws: RecordReadError.zoneNotFound(zone)) {
                try store.records(named: ["a"], in: zone, of: database)
            }
            return
        }
        let records = try store.records(named: RandomHistory.names, in: zone, of: database)
        for (name, record) in zip(RandomHistory.names, records) {
            let wanted = expected?.records[name]
            #expect(record?.fieldsText == wanted?.saved?.fields)
            guard let record, let wanted else { continue }
            #expect(record.name == name && record.type == wanted.type && record.sequence == wanted.sequence)
            #expect(record.created == wanted.created && record.modified == wanted.modified)
        }
    }

    private func check(_ store: RecordStore, _ account: AccountID, _ model: StoreModel) throws {
        #expect(try store.knows(account) == model.users.contains(account))
        let devices = try store.devices(of: account)
        #expect(Dictionary(uniqueKeysWithValues: devices.map { ($0.name, $0.token) }) == model.devices[account] ?? [:])
        for scope in DatabaseScope.allCases {
            let expected = model.subscriptions[account]?[scope] ?? [:]
            let found = try store.subscriptions(of: account, in: scope)
            #expect(found.map(\.id) == expected.sorted { $0.value.sequence < $1.value.sequence }.map(\.key))
            for subscription in found {
                #expect(String(decoding: subscription.body, as: UTF8.self) == expected[subscription.id]?.body)
            }
            let ids = ["none"] + found.map(\.id)
            #expect(try store.subscriptions(withIDs: ids, of: account, in: scope) == [nil] + found)
            let saved = try store.savedSubscriptions(among: ids, of: account, in: scope)
            #expect(saved == SavedItems(count: found.count, known: Set(found.map(\.id))))
        }
    }

    private func checkBrokenReferences(_ store: RecordStore, _ model: StoreModel) throws {
        var expected: Set<[String]> = []
        for (database, content) in model.databases {
            for (zone, records) in content.zones {
                for (name, record) in records.records where record.saved?.broken.isEmpty == false {
                    expected.insert(["\(database)", "\(zone)", name])
                }
            }
        }
        let found = try store.recordsWithBrokenReferences(limit: 10_000).map {
            ["\($0.database)", "\($0.zone)", $0.name]
        }
        #expect(Set(found) == expected)
    }
}

extension StoreModel.Database {
    var livingRecords: [StoreModel.Saved] { zones.values.flatMap { $0.records.values.compactMap(\.saved) } }
}

struct RebuildTests {
    private func lines(_ seed: UInt64, _ count: Int) -> [String] {
        var history = RandomHistory(seed)
        return (0..<count).map { _ in history.change().line }
    }

    private func batches(_ lines: [String], _ random: inout Seeded) -> [EventBatch] {
        var (batches, first) = ([EventBatch](), 0)
        while first < lines.count {
            let end = min(first + 1 + random.below(9), lines.count)
            batches.append(
                EventBatch(Array(lines[first..<end]), first: UInt64(first + 1), milliseconds: Int64(first / 20)))
            first = end
        }
        return batches
    }

    /// Records have the time of their batch. So both stores must apply the same batches.
    @Test(arguments: Seeded.seeds)
    func `a rebuilt store equals a store that followed the log with maintenance and repeated batches`(
        seed: UInt64
    ) throws {
        for round in 0..<UInt64(Tier.value(3, full: 20)) {
            var random = Seeded(seed &+ round &* 104_729)
            let batches = batches(lines(random.next(), 200), &random)
            let (followed, rebuilt) = (try TestStore(), try TestStore())
            var next = 0
            while next < batches.count {
                // Some batches come again, as if the upstream had not learned that they were applied.
                let first = max(next - random.below(3), 0)
                let end = min(next + 1 + random.below(4), batches.count)
                _ = try followed.writer.apply(Array(batches[first..<end]))
                next = end
                if random.isOneIn(3) { try followed.writer.doMaintenance(rowsMax: 2) }
            }
            _ = try rebuilt.writer.apply(batches)
            #expect(try followed.dump == rebuilt.dump)
            #expect(try followed.store.digest() == rebuilt.store.digest())
            try rebuilt.finish()
            #expect(try followed.dump == rebuilt.dump)
        }
    }

    @Test(arguments: Seeded.seeds)
    func `applying a history again, from any event on, changes nothing`(seed: UInt64) throws {
        let lines = lines(seed, 40)
        let test = try TestStore()
        try test.apply(lines, milliseconds: 5)
        let dump = try test.dump
        for cut in 0..<lines.count {
            let batch = EventBatch(Array(lines[cut...]), first: UInt64(cut + 1), milliseconds: 9)
            #expect(try test.writer.apply([batch]).isEmpty)
        }
        #expect(try test.dump == dump)
    }

    @Test func `a gap between events is refused, and no event of the call is applied`() throws {
        let test = try TestStore()
        try test.apply([Line.save("a")])
        let batches = [
            EventBatch([Line.save("b")], first: 2, milliseconds: 2),
            EventBatch([Line.save("c")], first: 4, milliseconds: 4),
        ]
        #expect(throws: RecordStoreError.missingEvents(applied: 2, first: 4)) { try test.writer.apply(batches) }
        #expect(try test.store.records(named: ["b"], of: .alice) == [nil])
        #expect(try test.store.applied.sequence == 1)
        _ = try test.writer.apply([batches[0]])
        #expect(try test.store.applied == .init(sequence: 2, time: Instant(microseconds: 2_000)))
    }

    @Test func `an event that is not JSON, or lacks a member, stops the call, and the error has its sequence`() throws {
        for line in ["{", #"{"type":"record.save","database":"public"}"#, #"{"type":"zone.delete"}"#] {
            let test = try TestStore()
            let batch = EventBatch([Line.save("a"), line], first: 1, milliseconds: 1)
            let error = try #require(throws: RecordStoreError.self) { try test.writer.apply([batch]) }
            guard case .badEvent(sequence: 2, _) = error else {
                Issue.record("\(error)")
                continue
            }
            #expect(try test.store.applied.sequence == 0)
        }
    }

    @Test func `a copy has the content of the store, and then changes independently`() throws {
        let test = try TestStore()
        try test.apply(lines(3, 100))
        try RecordStore.copy(test.store.path, to: test.folder.file("copy.sqlite"))
        let copy = try TestStore(test.folder, "copy.sqlite")
        #expect(try copy.dump == test.dump)
        try copy.apply([Line.save("z")])
        #expect(try copy.dump != test.dump)
        try test.apply([Line.save("z")])
        #expect(try copy.dump == test.dump)
        #expect(throws: RecordStoreError.self) {
            try RecordStore.copy(test.store.path, to: test.folder.file("copy.sqlite"))
        }
    }
}
