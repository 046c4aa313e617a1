import Foundation
import JSON

extension CKRecord {
    /// CloudKit's name for the type ``CKRecordID``.
    public typealias ID = CKRecordID
}

/// A record's name and its zone.
open class CKRecordID: NSObject, NSCopying, NSSecureCoding {
    /// The record's name, unique in its zone.
    open var recordName: String { name }
    /// The zone of the record.
    open var zoneID: CKRecordZone.ID { zone }
    private let name: String
    private let zone: CKRecordZone.ID

    /// Makes the ID of a record. The default name is a random UUID.
    public init(recordName: String = UUID().uuidString, zoneID: CKRecordZone.ID = .default) {
        (name, zone) = (recordName, zoneID)
    }

    open class var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        guard let id = Archive.decode(from: coder, CKRecordID.init(json:)) else { return nil }
        (name, zone) = (id.name, id.zone)
    }

    open func encode(with coder: NSCoder) {
        Archive.encode(to: coder) { buffer in buffer.object { writeMembers(into: &$0) } }
    }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKRecordID else { return false }
        return recordName.hasSameBytes(as: other.recordName) && zoneID.isEqual(other.zoneID)
    }

    open override var hash: Int { [recordName.byteHash, zoneID.hash].hashValue }

    open override var description: String {
        "<CKRecordID \(recordName) in \(zoneID.zoneName):\(zoneID.ownerName)>"
    }
}

extension CKRecordID {
    /// Reads the `recordName` and `zoneID` of a dictionary.
    convenience init?(json: JSONValue) {
        guard let recordName = json["recordName"]?.string else { return nil }
        self.init(recordName: recordName, zoneID: json["zoneID"].flatMap(CKRecordZone.ID.init(json:)) ?? .default)
    }

    func writeMembers(into buffer: inout ByteBuffer) {
        buffer.append("recordName", recordName)
        buffer.append(",\"zoneID\":")
        zoneID.write(into: &buffer)
    }
}
