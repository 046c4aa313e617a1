import CloudKitModel
import Foundation
import JSON

/// CloudKit's placeholder for the current user as the owner of a zone.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let CKCurrentUserDefaultName = "\(ZoneID.currentUser)"

/// Contains only the type ``ID``. In CloudKit, `CKRecordZone` is also the class of zones, which this client does not
/// have.
public enum CKRecordZone {
    /// CloudKit's name for the type ``CKRecordZoneID``.
    public typealias ID = CKRecordZoneID
}

/// A zone's name and its owner.
open class CKRecordZoneID: NSObject, NSCopying, NSSecureCoding {
    /// The name of the zone that every database has.
    public static let defaultZoneName = "\(ZoneID.defaultZone)"
    /// The current user's default zone.
    public static let `default` = CKRecordZoneID()

    /// The zone's name, unique for its owner.
    open var zoneName: String { name }
    /// The record name of the user who owns the zone, or a placeholder such as ``CKCurrentUserDefaultName``.
    open var ownerName: String { owner }
    private let name: String
    private let owner: String

    /// Makes the ID of a zone. The default is the current user's default zone.
    public init(
        zoneName: String = CKRecordZoneID.defaultZoneName, ownerName: String = CKCurrentUserDefaultName
    ) {
        (name, owner) = (zoneName, ownerName)
    }

    open class var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        guard let id = Archive.decode(from: coder, CKRecordZoneID.init(json:)) else { return nil }
        (name, owner) = (id.name, id.owner)
    }

    open func encode(with coder: NSCoder) { Archive.encode(to: coder, write) }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKRecordZoneID else { return false }
        return zoneName.hasSameBytes(as: other.zoneName) && ownerName.hasSameBytes(as: other.ownerName)
    }

    open override var hash: Int { [zoneName.byteHash, ownerName.byteHash].hashValue }

    open override var description: String { "<CKRecordZoneID \(zoneName):\(ownerName)>" }
}

extension CKRecordZoneID {
    /// Reads a zone dictionary. If it names no owner, the zone belongs to the current user.
    convenience init?(json: JSONValue) {
        guard let zoneName = json["zoneName"]?.string else { return nil }
        self.init(zoneName: zoneName, ownerName: json["ownerRecordName"]?.string ?? CKCurrentUserDefaultName)
    }

    /// Writes a zone dictionary, without an owner if the zone belongs to the current user.
    func write(into buffer: inout ByteBuffer) {
        buffer.object {
            $0.append("zoneName", zoneName)
            if !ownerName.hasSameBytes(as: CKCurrentUserDefaultName) { $0.append("ownerRecordName", ownerName) }
        }
    }
}
