import Events
import JSON

/// A view of a checked zone dictionary.
package struct ZoneID {
    /// The zone that every database has.
    package static let defaultZone: StaticString = "_defaultZone"
    /// The owner of the public database's zone on the wire.
    package static let defaultOwner: StaticString = "_defaultOwner"
    /// `CKCurrentUserDefaultName`: whoever asks.
    package static let currentUser: StaticString = "__defaultOwner__"

    package let zoneName: JSONValue
    /// `ownerRecordName`, or `ownerName` as some clients write it.
    package let owner: JSONValue?

    /// - Throws: `member.kind`, `member.missing`, `member.conflict`, `name.*`; `name.reserved` for a zone name that
    ///   starts with `_` and is not `_defaultZone`.
    @inline(__always)
    package init(_ json: JSONValue) throws(ModelError) {
        try json.expectObject("a zone ID")
        zoneName = try json.required(.zoneName)
        owner = try ZoneID.owner(of: json)
        let zoneName = zoneName
        try under(.zoneName) { () throws(ModelError) in try ZoneID.check(name: zoneName) }
    }

    package var isDefault: Bool { zoneName.equals(ZoneID.defaultZone) }

    /// Whether the owner is left to the database that the zone is in.
    package var isOwnedByDatabase: Bool {
        guard let owner else { return true }
        return owner.equals(ZoneID.currentUser) || owner.equals(ZoneID.defaultOwner)
    }

    /// A private database's zones belong to its user.
    ///
    /// - Throws: `zone.owner`.
    @inline(__always)
    package func expectOwner(_ user: JSONValue, in scope: DatabaseScope) throws(ModelError) {
        guard scope == .private, let owner, !ZoneID.isSame(owner, user), !isOwnedByDatabase else { return }
        throw ModelError(
            "zone.owner", at: "ownerRecordName",
            "a private database's zones belong to its user, \"\(user.string ?? "")\": name that user or leave it out")
    }

    @inline(__always)
    private static func isSame(_ left: JSONValue, _ right: JSONValue) -> Bool {
        if let left = left.plain, let right = right.plain { return left.isSame(as: right) }
        return left.exact == right.exact
    }

    @inline(__always)
    private static func owner(of json: JSONValue) throws(ModelError) -> JSONValue? {
        if let owner = json[.ownerRecordName] {
            guard json["ownerName"] == nil else {
                throw ModelError("member.conflict", at: "ownerName", "ownerName is ownerRecordName: keep one of them")
            }
            try under(.ownerRecordName) { () throws(ModelError) in try NameRule.user.check(owner) }
            return owner
        }
        guard let owner = json["ownerName"] else { return nil }
        try under("ownerName") { () throws(ModelError) in try NameRule.user.check(owner) }
        return owner
    }

    /// CKRecordZone.ID: names that start with an underscore are CloudKit's own.
    @inline(__always)
    private static func check(name: JSONValue) throws(ModelError) {
        try NameRule.zoneName.check(name)
        guard name.withText({ $0[0] == UInt8(ascii: "_") }) == true, !name.equals(defaultZone) else { return }
        throw ModelError(
            "name.reserved", "zone names that start with '_' are CloudKit's, and \(defaultZone) is the only one")
    }
}
