import Events
import JSON

/// The records that exist. With this memory, ingest tells an update from a create, checks change tags, and describes a
/// deleted record.
///
/// As in CloudKit, container, environment, database, owner, zone and name identify a record. If `record.save` saves
/// another type under the same name, the saved record counts as a new record.
struct RecordMemory {
    var table = RecordTable()
    var zones = ZoneMemory()
    let key: NameFingerprint.Key
    private var address = RecordAddress()

    init(_ key: NameFingerprint.Key) { self.key = key }

    /// Remembers the record of a checked `record.save`, and its zone.
    ///
    /// - Parameters:
    ///   - owner: The owner of the database.
    ///   - sequence: The save's position in the log.
    /// - Returns: Whether a record of this name and type existed before.
    @inline(__always)
    mutating func save(_ command: JSONValue, of owner: JSONValue?, at sequence: UInt64) -> Bool {
        guard let record = command[.record], let recordType = record[.recordType] else { return false }
        address.set(command, owner, zone: record[.zoneID], name: record[.recordName])
        let type = key.fingerprint(ofType: recordType)
        return save(address, type: type, at: sequence)?.type == type
    }

    /// Remembers a save of the record at an address, and the record's zone.
    ///
    /// - Returns: The record that existed at the address before; nil if there was no record.
    @inline(__always)
    @discardableResult
    mutating func save(_ address: RecordAddress, type: UInt32, at sequence: UInt64) -> RecordEntry? {
        let fingerprints = key.fingerprints(of: address)
        let place = table.place(of: fingerprints.record)
        let zone = place.entry?.zone ?? zones.number(of: address, fingerprints.zone)
        let before = place.entry.flatMap { zones.isLive($0) ? $0 : nil }
        if before == nil { zones.markAsExisting(zone) }
        let entry = RecordEntry(fingerprint: fingerprints.record, sequence: sequence, zone: zone, type: type)
        table.set(entry, at: place, zones)
        return before
    }

    /// The record that exists at an address; nil if there is no record.
    func find(_ address: RecordAddress) -> RecordEntry? {
        table.place(of: key.fingerprints(of: address).record).entry.flatMap { zones.isLive($0) ? $0 : nil }
    }

    mutating func remove(_ address: RecordAddress) {
        table.remove(at: table.place(of: key.fingerprints(of: address).record))
    }

    func zoneExists(for address: RecordAddress) -> Bool {
        address.isInDefaultZone || zones.exists(key.fingerprints(of: address).zone)
    }

    mutating func saveZone(of address: RecordAddress) {
        zones.markAsExisting(zones.number(of: address, key.fingerprints(of: address).zone))
    }

    mutating func deleteZone(of address: RecordAddress, at sequence: UInt64) {
        zones.delete(zones.number(of: address, key.fingerprints(of: address).zone), at: sequence)
    }

    /// Forgets the record of a `record.delete` in the log, unless the event names another type.
    mutating func recallDelete(_ event: JSONValue) {
        guard let record = event[.record] else { return }
        address.set(event, event[.owner], zone: record[.zoneID], name: record[.recordName])
        guard let known = find(address) else { return }
        let type = record[.recordType] ?? event[.recordType]
        if type.map({ key.fingerprint(ofType: $0) == known.type }) ?? true { remove(address) }
    }
}
