import Events
import JSON

/// The live records. With them ingest tells an update from a create, checks change tags, and describes a deleted
/// record.
///
/// As in CloudKit, container, environment, database, owner, zone and name identify a record. If `record.save` saves
/// another type under the same name, it is a new record.
struct RecordMemory {
    var table = RecordTable()
    var zones = ZoneMemory()
    let key: NamePrint.Key
    private var address = RecordAddress()

    init(_ key: NamePrint.Key) { self.key = key }

    /// Remembers the record of a checked `record.save`, and its zone.
    ///
    /// - Parameters:
    ///   - owner: The owner of the database.
    ///   - sequence: The save's position in the log.
    /// - Returns: Whether a record of this name and type lived.
    @inline(__always)
    mutating func save(_ command: JSONValue, of owner: JSONValue?, at sequence: UInt64) -> Bool {
        guard let record = command[.record], let recordType = record[.recordType] else { return false }
        address.set(command, owner, zone: record[.zoneID], name: record[.recordName])
        let type = key.type(recordType)
        return save(address, type: type, at: sequence)?.type == type
    }

    /// Remembers a save of the record at an address, and its zone.
    ///
    /// - Returns: The record that lived at the address before; nil if none did.
    @inline(__always)
    @discardableResult
    mutating func save(_ address: RecordAddress, type: UInt32, at sequence: UInt64) -> RecordEntry? {
        let prints = key.prints(of: address)
        let place = table.place(of: prints.record)
        let zone = place.entry?.zone ?? zones.number(of: address, prints.zone)
        let before = place.entry.flatMap { zones.keeps($0) ? $0 : nil }
        if before == nil { zones.revive(zone) }
        let entry = RecordEntry(print: prints.record, sequence: sequence, zone: zone, type: type)
        table.set(entry, at: place, zones)
        return before
    }

    /// The record that lives at an address; nil if none does.
    func find(_ address: RecordAddress) -> RecordEntry? {
        table.place(of: key.prints(of: address).record).entry.flatMap { zones.keeps($0) ? $0 : nil }
    }

    mutating func remove(_ address: RecordAddress) {
        table.remove(at: table.place(of: key.prints(of: address).record))
    }

    func livesZone(of address: RecordAddress) -> Bool {
        address.isInDefaultZone || zones.lives(key.prints(of: address).zone)
    }

    mutating func saveZone(of address: RecordAddress) {
        zones.revive(zones.number(of: address, key.prints(of: address).zone))
    }

    mutating func deleteZone(of address: RecordAddress, at sequence: UInt64) {
        zones.delete(zones.number(of: address, key.prints(of: address).zone), at: sequence)
    }

    /// Forgets the record of a `record.delete` in the log.
    mutating func recallDelete(_ event: JSONValue) {
        guard let record = event[.record] else { return }
        address.set(event, event[.owner], zone: record[.zoneID], name: record[.recordName])
        guard let known = find(address) else { return }
        let type = record[.recordType] ?? event[.recordType]
        if type.map({ key.type($0) == known.type }) ?? true { remove(address) }
    }
}
