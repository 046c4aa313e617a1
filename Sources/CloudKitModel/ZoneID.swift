import Events
import JSON

/// A view of a checked zone dictionary.
package struct ZoneID {
    /// The zone that every database has.
    package static let defaultZone: StaticString = "_defaultZone"
    /// The owner of the public database's zone, as payloads name it.
    package static let defaultOwner: StaticString = "_defaultOwner"
    /// The placeholder for the user who sends the request (`CKCurrentUserDefaultName`).
    package static let currentUser: StaticString = "__defaultOwner__"

    package let zoneName: JSONValue
    /// The member `ownerRecordName`. Some clients write it as `ownerName`.
    package let owner: JSONValue?
    /// The member that names the owner: `ownerRecordName` or `ownerName`.
    private let ownerKey: Member

    /// - Throws: `member.kind`, `member.missing`, `member.conflict` or `name.*`; `name.reserved` for a zone name that
    ///   starts with `_` and is not `_defaultZone`.
    @inline(__always)
    package init(_ json: JSONValue) throws(ModelError) {
        try json.expectObject("a zone ID")
        zoneName = try json.required(.zoneName)
        (owner, ownerKey) = try ZoneID.owner(of: json)
        let zoneName = zoneName
        try under(.zoneName) { () throws(ModelError) in try ZoneID.check(name: zoneName) }
    }

    package var isDefault: Bool { zoneName.equals(ZoneID.defaultZone) }

    /// Whether the owner follows from the database, because the zone names no owner or one of CloudKit's placeholders.
    package var isOwnedByDatabase: Bool {
        guard let owner else { return true }
        return owner.equals(ZoneID.currentUser) || owner.equals(ZoneID.defaultOwner)
    }

    /// - Throws: `zone.owner` for a zone of a private database that names another owner than the database's user.
    @inline(__always)
    package func expectOwner(_ user: JSONValue, in scope: DatabaseScope) throws(ModelError) {
        guard scope == .private, let owner, !ZoneID.isSame(owner, user), !isOwnedByDatabase else { return }
        throw ModelError(
            "zone.owner", at: "\(ownerKey)",
            "a private database's zones belong to its user, \"\(user.string ?? "")\": name that user "
                + "or leave the owner out")
    }

    @inline(__always)
    private static func isSame(_ left: JSONValue, _ right: JSONValue) -> Bool {
        if let left = left.plain, let right = right.plain { return left.isSame(as: right) }
        return left.exact == right.exact
    }

    @inline(__always)
    private static func owner(of json: JSONValue) throws(ModelError) -> (owner: JSONValue?, key: Member) {
        let (usual, other) = (json[.ownerRecordName], json["ownerName"])
        guard usual == nil || other == nil else {
            throw ModelError(
                "member.conflict", at: "ownerName",
                "ownerName and ownerRecordName are two names of the same member: keep one of them")
        }
        let key: Member = other == nil ? .ownerRecordName : "ownerName"
        guard let owner = usual ?? other else { return (nil, key) }
        try under(key) { () throws(ModelError) in try NameRule.user.check(owner) }
        return (owner, key)
    }

    // CKRecordZone.ID: names that start with an underscore are reserved for CloudKit.
    @inline(__always)
    private static func check(name: JSONValue) throws(ModelError) {
        try NameRule.zoneName.check(name)
        guard name.withText({ $0[0] == UInt8(ascii: "_") }) == true, !name.equals(defaultZone) else { return }
        throw ModelError(
            "name.reserved", "a zone name cannot start with '_', except \(defaultZone): CloudKit reserves such names")
    }
}
