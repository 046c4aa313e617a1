import PipelineKit

/// The custom zones that exist or once existed, each with a number. The default zone always exists and has the number
/// 0.
struct ZoneMemory {
    struct Zone: Hashable {
        let fingerprint: NameFingerprint
        var exists = false
        /// The sequence of the zone's last delete; 0 if the zone was never deleted. Records that were saved before this
        /// delete no longer exist.
        var deletedAt: UInt64 = 0
    }

    /// The zones in the order in which events first named them. Zone `n` is at index `n - 1`.
    private var zones: [Zone] = []
    private var numbers: [NameFingerprint: UInt32] = [:]
    /// The last custom zone that ``number(of:_:)`` returned. Keeping it saves look-ups, because most changes are in the
    /// same zone as the change before them.
    private var lastUsed: (fingerprint: NameFingerprint, number: UInt32)?

    static let defaultZone: UInt32 = 0

    var count: Int { zones.count }

    /// The number of an address's zone. A new zone gets the next number.
    mutating func number(of address: RecordAddress, _ fingerprint: NameFingerprint) -> UInt32 {
        if address.isInDefaultZone { return ZoneMemory.defaultZone }
        if let lastUsed, lastUsed.fingerprint == fingerprint { return lastUsed.number }
        let number = numbers[fingerprint] ?? add(fingerprint)
        lastUsed = (fingerprint, number)
        return number
    }

    private mutating func add(_ fingerprint: NameFingerprint) -> UInt32 {
        zones.append(Zone(fingerprint: fingerprint))
        numbers[fingerprint] = UInt32(zones.count)
        return UInt32(zones.count)
    }

    @inline(__always)
    mutating func markAsExisting(_ number: UInt32) {
        if number != ZoneMemory.defaultZone { zones[Int(number) - 1].exists = true }
    }

    mutating func delete(_ number: UInt32, at sequence: UInt64) {
        guard number != ZoneMemory.defaultZone else { return }
        (zones[Int(number) - 1].exists, zones[Int(number) - 1].deletedAt) = (false, sequence)
    }

    func exists(_ fingerprint: NameFingerprint) -> Bool {
        numbers[fingerprint].map { zones[Int($0) - 1].exists } ?? false
    }

    /// Whether a record still exists. False if the record was deleted with its zone.
    @inline(__always)
    func isLive(_ entry: RecordEntry) -> Bool {
        entry.zone == ZoneMemory.defaultZone || entry.sequence > zones[Int(entry.zone) - 1].deletedAt
    }
}

extension ZoneMemory {
    func write(into snapshot: inout SnapshotWriter) {
        snapshot.write(all: zones) { zone, snapshot in
            snapshot.write(zone.fingerprint.high)
            snapshot.write(zone.fingerprint.low)
            snapshot.write(zone.exists)
            snapshot.write(zone.deletedAt)
        }
    }

    mutating func read(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        let count = try snapshot.count(bytesEach: 4)
        zones.reserveCapacity(count)
        numbers.reserveCapacity(count)
        for _ in 0..<count {
            let fingerprint = NameFingerprint(high: try snapshot.number(), low: try snapshot.number())
            let zone = Zone(fingerprint: fingerprint, exists: try snapshot.flag(), deletedAt: try snapshot.number())
            zones.append(zone)
            guard zone.exists || zone.deletedAt > 0,
                numbers.updateValue(UInt32(zones.count), forKey: fingerprint) == nil
            else {
                throw snapshot.error("a zone appears twice, or neither exists nor was deleted")
            }
        }
    }
}
