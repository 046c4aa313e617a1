import Events
import JSON

/// A view of a checked record dictionary.
///
/// Members that this check does not read (`recordChangeTag`, `created`, …) are accepted, because CloudKit's answers
/// have them.
package struct Record {
    package let recordName: JSONValue
    /// Nil if the dictionary names no type, which only `needsType: false` allows: as in CloudKit, a command for an
    /// existing record need not name its type.
    package let recordType: JSONValue?
    /// Nil if the dictionary names no zone: the record is in the default zone.
    package let zoneID: ZoneID?
    package let fields: JSONValue?

    /// - Parameters:
    ///   - needsType: Whether the record must name its type.
    ///   - allowsNull: Whether a field's value may be null, which removes the field.
    /// - Throws: `member.kind`, `member.missing`, and the errors of ``Fields``, ``ZoneID`` and ``NameRule``.
    @inline(__always)
    package init(_ json: JSONValue, needsType: Bool = true, allowsNull: Bool = false) throws(ModelError) {
        try json.expectObject("a record")
        recordName = try json.required(.recordName)
        recordType = needsType ? try json.required(.recordType) : json[.recordType]
        fields = json[.fields]
        zoneID = try Record.zoneID(of: json)
        try checkNames()
        if let fields {
            try under(.fields) { () throws(ModelError) in try Fields.check(fields, allowsNull: allowsNull) }
        }
    }

    @inline(__always)
    private func checkNames() throws(ModelError) {
        try under(.recordName) { () throws(ModelError) in try NameRule.recordName.check(recordName) }
        guard let recordType else { return }
        try under(.recordType) { () throws(ModelError) in try NameRule.recordType.check(recordType) }
    }

    @inline(__always)
    private static func zoneID(of json: JSONValue) throws(ModelError) -> ZoneID? {
        guard let zone = json[.zoneID] else { return nil }
        return try under(.zoneID) { () throws(ModelError) in try ZoneID(zone) }
    }
}
