import Foundation
import JSON

extension CKRecord {
    public typealias ID = CKRecordID
}

/// A record's name and its zone.
public final class CKRecordID: NSObject, NSCopying, NSSecureCoding, Sendable {
    public let recordName: String
    public let zoneID: CKRecordZone.ID

    public init(recordName: String = UUID().uuidString, zoneID: CKRecordZone.ID = .default) {
        (self.recordName, self.zoneID) = (recordName, zoneID)
    }

    public static var supportsSecureCoding: Bool { true }

    public convenience init?(coder: NSCoder) {
        guard let id = Archive.decode(from: coder, CKRecordID.init(json:)) else { return nil }
        self.init(recordName: id.recordName, zoneID: id.zoneID)
    }

    public func encode(with coder: NSCoder) {
        Archive.encode(to: coder) { buffer in
            buffer.append("{")
            writeMembers(into: &buffer)
            buffer.append("}")
        }
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKRecordID else { return false }
        return recordName.hasSameBytes(as: other.recordName) && zoneID.isEqual(other.zoneID)
    }

    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(bytesOf: recordName)
        hasher.combine(zoneID.hash)
        return hasher.finalize()
    }

    public override var description: String {
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
        buffer.append("\"recordName\":")
        buffer.appendJSON(recordName)
        buffer.append(",\"zoneID\":")
        zoneID.write(into: &buffer)
    }
}
