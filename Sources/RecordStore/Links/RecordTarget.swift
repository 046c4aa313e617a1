import CloudKitModel
import Events
import JSON

/// The bytes that name a record within its database: zone, zone owner and record, with a zero byte between them. Names
/// have no zero bytes.
enum RecordTarget {
    static func zonePrefix(name: String, owner: String) -> [UInt8] { Array(name.utf8) + [0] + Array(owner.utf8) + [0] }

    static func bytes(_ zonePrefix: [UInt8], _ recordName: JSONValue) -> [UInt8] {
        zonePrefix + (recordName.withUTF8 { Array($0) } ?? [])
    }

    static func bytes(_ zone: ZoneKey, _ recordName: String) -> [UInt8] {
        zonePrefix(name: zone.name, owner: zone.owner ?? "") + Array(recordName.utf8)
    }

    /// The target of a reference in a record of `zone`; nil if the reference has no record name.
    static func bytes(of reference: JSONValue, in zone: ZoneRow) -> [UInt8]? {
        guard let name = reference[.recordName], name.isString else { return nil }
        guard let zoneID = reference[.zoneID], zoneID.isObject else { return bytes(zone.targetPrefix, name) }
        let key = ZoneKey(zoneID)
        return bytes(zonePrefix(name: key.name, owner: zone.isShared ? key.owner ?? "" : ""), name)
    }
}
