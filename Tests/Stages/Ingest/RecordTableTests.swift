import TestSupport
import Testing

@testable import Ingest

struct RecordTableTests {
    private static func entry(_ print: NamePrint, _ sequence: Int) -> RecordEntry {
        RecordEntry(print: print, sequence: UInt64(sequence), zone: 0, type: 7)
    }

    /// Fingerprints that are spread evenly, or that all belong to one part and nearly to one home.
    private static func prints(_ count: Int, isCrowded: Bool, _ random: inout Seeded) -> [NamePrint] {
        (0..<count).map { _ in
            NamePrint(high: isCrowded ? random.next() >> 60 : random.next(), low: random.next() % 1_000)
        }
    }

    @Test(arguments: [false, true])
    func `a table has the entries of a dictionary, in the order of their fingerprints`(isCrowded: Bool) {
        var random = Seeded(Seeded.ofThisRun)
        let prints = Self.prints(2_000, isCrowded: isCrowded, &random)
        var (table, expected) = (RecordTable(), [NamePrint: UInt64]())
        for step in 1...20_000 {
            let print = random.one(of: prints)
            let place = table.place(of: print)
            #expect(place.entry?.sequence == expected[print], "seed \(Seeded.ofThisRun)")
            if random.isOneIn(3) {
                table.remove(at: place)
                expected[print] = nil
            } else {
                table.set(Self.entry(print, step), at: place, ZoneMemory())
                expected[print] = UInt64(step)
            }
        }
        #expect(table.count == expected.count)
        let entries = table.parts.flatMap { Array($0.entries) }
        #expect(entries.map(\.print) == expected.keys.sorted { $0 < $1 }, "seed \(Seeded.ofThisRun)")
        #expect(entries.allSatisfy { expected[$0.print] == $0.sequence })
    }

    @Test func `an entry takes at most 48 bytes in a large table`() {
        var random = Seeded(Seeded.ofThisRun)
        var table = RecordTable()
        var most = 0.0
        for count in 1...600_000 {
            let print = NamePrint(high: random.next(), low: random.next())
            table.set(Self.entry(print, count), at: table.place(of: print), ZoneMemory())
            guard count >= 300_000, count % 10_000 == 0 else { continue }
            most = max(most, Double(table.memoryBytes) / Double(count))
        }
        #expect(MemoryLayout<RecordEntry>.stride == 32)
        #expect(most <= 48, "\(most) bytes, seed \(Seeded.ofThisRun)")
    }
}
