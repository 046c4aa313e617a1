import PipelineKit

/// The custom zones that ever lived, each with a number. The default zone always lives and has the number 0.
struct ZoneMemory {
    struct Zone: Hashable {
        let print: NamePrint
        var lives = false
        /// The sequence of the zone's last delete; 0 without one. Older records of the zone do not live.
        var deleted: UInt64 = 0
    }

    /// Zone `n` is at index `n - 1`, in the order in which they first came.
    private var zones: [Zone] = []
    private var numbers: [NamePrint: UInt32] = [:]

    static let defaultZone: UInt32 = 0

    var count: Int { zones.count }

    /// The number of the zone of an address, drawn if it has none.
    mutating func number(of address: RecordAddress, _ print: NamePrint) -> UInt32 {
        if address.isInDefaultZone { return ZoneMemory.defaultZone }
        if let number = numbers[print] { return number }
        zones.append(Zone(print: print))
        numbers[print] = UInt32(zones.count)
        return UInt32(zones.count)
    }

    @inline(__always)
    mutating func revive(_ number: UInt32) {
        if number != ZoneMemory.defaultZone { zones[Int(number) - 1].lives = true }
    }

    mutating func delete(_ number: UInt32, at sequence: UInt64) {
        guard number != ZoneMemory.defaultZone else { return }
        (zones[Int(number) - 1].lives, zones[Int(number) - 1].deleted) = (false, sequence)
    }

    func lives(_ print: NamePrint) -> Bool { numbers[print].map { zones[Int($0) - 1].lives } ?? false }

    /// Whether a record was not deleted with its zone.
    @inline(__always)
    func keeps(_ entry: RecordEntry) -> Bool {
        entry.zone == ZoneMemory.defaultZone || entry.sequence > zones[Int(entry.zone) - 1].deleted
    }
}

extension ZoneMemory {
    func write(into snapshot: inout SnapshotWriter) {
        snapshot.write(all: zones) { zone, snapshot in
            snapshot.write(zone.print.high)
            snapshot.write(zone.print.low)
            snapshot.write(zone.lives)
            snapshot.write(zone.deleted)
        }
    }

    mutating func read(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        let count = try snapshot.count(bytesEach: 4)
        zones.reserveCapacity(count)
        numbers.reserveCapacity(count)
        for _ in 0..<count {
            let print = NamePrint(high: try snapshot.number(), low: try snapshot.number())
            let zone = Zone(print: print, lives: try snapshot.flag(), deleted: try snapshot.number())
            zones.append(zone)
            guard zone.lives || zone.deleted > 0, numbers.updateValue(UInt32(zones.count), forKey: print) == nil else {
                throw snapshot.error("a zone appears twice, or neither lives nor was deleted")
            }
        }
    }
}
