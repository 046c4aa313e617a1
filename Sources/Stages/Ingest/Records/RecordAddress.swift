import CloudKitModel
import Events
import JSON

/// The names that identify a record, as bytes: container, environment, database, owner, zone, name. In a shared
/// database, the zone's owner follows the zone.
///
/// Each name is followed by a zero byte. This marks the end clearly, because no name contains a control character. The
/// names that identify the zone come first. The owner of a public database and the name of the default zone are empty.
struct RecordAddress {
    private(set) var bytes: [UInt8] = []
    /// The number of bytes that identify the zone.
    private(set) var zoneBytes = 0
    private(set) var isInDefaultZone = true

    init() {}

    init(of command: JSONValue, _ owner: JSONValue?, zone: JSONValue?, name: JSONValue?) {
        set(command, owner, zone: zone, name: name)
    }

    /// Replaces the address and reuses its memory.
    ///
    /// - Parameter owner: The owner of the database.
    @inline(__always)
    mutating func set(_ command: JSONValue, _ owner: JSONValue?, zone: JSONValue?, name: JSONValue?) {
        bytes.removeAll(keepingCapacity: true)
        append(command[.container])
        append(command[.environment])
        let database = command[.database]
        append(database)
        append(database?.equals("public") ?? false ? nil : owner)
        appendZone(zone, isShared: database?.equals("shared") ?? false)
        zoneBytes = bytes.count
        append(name)
    }

    /// Only shared databases contain zones of several owners.
    @inline(__always)
    private mutating func appendZone(_ zone: JSONValue?, isShared: Bool) {
        let zoneName = zone?[.zoneName]
        isInDefaultZone = zoneName?.equals(ZoneID.defaultZone) ?? true
        append(isInDefaultZone ? nil : zoneName)
        if isShared { append(zone?[.ownerRecordName] ?? zone?["ownerName"]) }
    }

    @inline(__always)
    private mutating func append(_ name: JSONValue?) {
        if let name { _ = name.withText { bytes.append(contentsOf: $0) } }
        bytes.append(0)
    }
}
