import CloudKitModel
import Foundation
import JSON

/// The owner of one's own zones, as CloudKit writes it.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let CKCurrentUserDefaultName = "\(ZoneID.currentUser)"

/// CloudKit's name for record zones; here it holds the name of their IDs.
public enum CKRecordZone {
    /// The name by which an app's code knows the type.
    public typealias ID = CKRecordZoneID
}

/// A zone's name and its owner.
open class CKRecordZoneID: NSObject, NSCopying, NSSecureCoding {
    /// The zone that every database has.
    public static let defaultZoneName = "\(ZoneID.defaultZone)"
    /// The user's own default zone.
    public static let `default` = CKRecordZoneID()

    /// The zone's name, unique for its owner.
    open var zoneName: String { name }
    /// The record name of the user who owns the zone.
    open var ownerName: String { owner }
    private let name: String
    private let owner: String

    /// The default zone of the current user, unless another name or owner is given.
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

    open override var hash: Int {
        var hasher = Hasher()
        hasher.combine(bytesOf: zoneName)
        hasher.combine(bytesOf: ownerName)
        return hasher.finalize()
    }

    open override var description: String { "<CKRecordZoneID \(zoneName):\(ownerName)>" }
}

extension CKRecordZoneID {
    /// Reads a zone dictionary; without an owner the zone is the user's own.
    convenience init?(json: JSONValue) {
        guard let zoneName = json["zoneName"]?.string else { return nil }
        self.init(zoneName: zoneName, ownerName: json["ownerRecordName"]?.string ?? CKCurrentUserDefaultName)
    }

    /// Writes a zone dictionary; the user's own zone needs no owner.
    func write(into buffer: inout ByteBuffer) {
        buffer.append("{")
        buffer.append("zoneName", zoneName)
        if !ownerName.hasSameBytes(as: CKCurrentUserDefaultName) {
            buffer.append("ownerRecordName", ownerName)
        }
        buffer.append("}")
    }
}
