import TestSupport
import Testing

@testable import Ingest

struct RecordTableTests {
    private static func entry(_ fingerprint: NameFingerprint, _ sequence: Int) -> RecordEntry {
        RecordEntry(fingerprint: fingerprint, sequence: UInt64(sequence), zone: 0, type: 7)
    }

    /// Random fingerprints. If `isCrowded` is true, they all have the same home: the first slot of the first part.
    private static func fingerprints(_ count: Int, isCrowded: Bool, _ random: inout Seeded) -> [NameFingerprint] {
        (0..<count).map { _ in
            NameFingerprint(high: isCrowded ? random.next() >> 60 : random.next(), low: random.next() % 1_000)
        }
    }

    @Test(arguments: [false, true])
    func `a table has the same entries as a dictionary, sorted by their fingerprints`(isCrowded: Bool) {
        var random = Seeded(Seeded.ofThisRun)
        let fingerprints = Self.fingerprints(2_000, isCrowded: isCrowded, &random)
        var (table, expected) = (RecordTable(), [NameFingerprint: UInt64]())
        for step in 1...20_000 {
            let fingerprint = random.one(of: fingerprints)
            let place = table.place(of: fingerprint)
            #expect(place.entry?.sequence == expected[fingerprint], "seed \(Seeded.ofThisRun)")
            if random.isOneIn(3) {
                table.remove(at: place)
                expected[fingerprint] = nil
            } else {
                table.set(Self.entry(fingerprint, step), at: place, ZoneMemory())
                expected[fingerprint] = UInt64(step)
            }
        }
        #expect(table.count == expected.count)
        let entries = table.parts.flatMap { Array($0.entries) }
        #expect(entries.map(\.fingerprint) == expected.keys.sorted { $0 < $1 }, "seed \(Seeded.ofThisRun)")
        #expect(entries.allSatisfy { expected[$0.fingerprint] == $0.sequence })
    }

    @Test func `a large table takes at most 48 bytes for each entry`() {
        var random = Seeded(Seeded.ofThisRun)
        var table = RecordTable()
        var most = 0.0
        for count in 1...600_000 {
            let fingerprint = NameFingerprint(high: random.next(), low: random.next())
            table.set(Self.entry(fingerprint, count), at: table.place(of: fingerprint), ZoneMemory())
            guard count >= 300_000, count % 10_000 == 0 else { continue }
            most = max(most, Double(table.memoryBytes) / Double(count))
        }
        #expect(MemoryLayout<RecordEntry>.stride == 32)
        #expect(most <= 48, "\(most) bytes, seed \(Seeded.ofThisRun)")
    }
}
