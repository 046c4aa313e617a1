import Events
import JSON

/// Checks references to records: `{"recordName": "n1", "zoneID": {…}, "action": "NONE"}`.
package enum Reference {
    private static let actions: [StaticString] = ["NONE", "DELETE_SELF", "VALIDATE"]
    private static let types: [StaticString] = ["REFERENCE", "REFERENCE_LIST", "UNKNOWN_LIST"]

    /// Whether a value in a field without a type is a reference: an object with `recordName` and `action`.
    static func isReference(_ value: JSONValue) -> Bool { value[.recordName] != nil && value[.action] != nil }

    /// Whether a checked field may contain references: the field has no type, or its type is `REFERENCE`,
    /// `REFERENCE_LIST` or `UNKNOWN_LIST`. In such a field, every object with `recordName` and `action` is a reference.
    /// An object in any other field, such as an asset, is never a reference.
    package static func isAllowed(in field: JSONValue) -> Bool {
        guard let type = field[.type] else { return true }
        return types.contains { type.equals($0) }
    }

    /// Whether a value of a checked field is a reference that deletes its record together with the target.
    package static func deletesSelf(_ value: JSONValue, in field: JSONValue) -> Bool {
        value[.action]?.equals("DELETE_SELF") == true && isAllowed(in: field)
    }

    package static func check(_ value: JSONValue) throws(ModelError) {
        guard value.isObject else {
            throw Fields.misfit("a REFERENCE must be an object with a recordName", value, expected: .object)
        }
        try checkTarget(of: value)
        if let action = value[.action] {
            try under(.action) { () throws(ModelError) in
                _ = try action.expectWord(actions, "a reference's action")
            }
        }
    }

    /// Checks the members `recordName` and `zoneID` with which an object names a record. `zoneID` may be missing.
    ///
    /// - Throws: `member.kind`, `member.missing`, `member.conflict` or `name.*`.
    package static func checkTarget(of value: JSONValue) throws(ModelError) {
        try NameRule.recordName.check(.recordName, of: value)
        if let zone = value[.zoneID] {
            try under(.zoneID) { () throws(ModelError) in _ = try ZoneID(zone) }
        }
    }
}
