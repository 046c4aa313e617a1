import CloudKitModel
import Events
import JSON

/// Names a zone within its database.
package struct ZoneKey: Hashable, Sendable {
    package let name: String
    /// Nil if the owner follows from the database. The store keeps owners only for zones of a shared database: see
    /// ``stored(in:)``.
    package let owner: String?

    package static let defaultZone = ZoneKey(name: ZoneID.defaultZone.description)

    /// - Parameter owner: A placeholder (`__defaultOwner__`, `_defaultOwner`) means the same as nil.
    package init(name: String, owner: String? = nil) {
        let isGiven = owner.map { $0 != ZoneID.currentUser.description && $0 != ZoneID.defaultOwner.description }
        (self.name, self.owner) = (name, isGiven == true ? owner : nil)
    }

    /// - Parameter zoneID: A checked zone dictionary; nil for the default zone.
    package init(_ zoneID: JSONValue?) {
        self.init(
            name: zoneID?[.zoneName]?.string ?? ZoneKey.defaultZone.name,
            owner: (zoneID?[.ownerRecordName] ?? zoneID?["ownerName"])?.string)
    }

    package var isDefault: Bool { name == ZoneKey.defaultZone.name }
}

extension ZoneKey {
    /// The zone as its database stores it; nil for a zone that the database cannot have.
    package func stored(in database: DatabaseID) -> ZoneKey? {
        switch database.scope {
        case .shared: self
        case .public: ZoneKey(name: name)
        case .private: owner == nil || owner == database.owner ? ZoneKey(name: name) : nil
        }
    }

    /// Appends `{"zoneName":…,"ownerRecordName":…}`.
    package func write(to buffer: inout ByteBuffer, in database: DatabaseID) {
        buffer.object {
            $0.append(.zoneName, name)
            $0.append(.ownerRecordName, owner ?? database.owner ?? ZoneID.defaultOwner.description)
        }
    }
}
