import CloudKitModel
import Testing

struct FieldsTests {
    static let accepted = [
        "{}",
        #"{"title":{"value":"Hi","type":"STRING"},"tags":{"value":["a","b"],"type":"STRING_LIST"}}"#,
        #"{"n":{"value":9223372036854775807,"type":"INT64"},"m":{"value":-9223372036854775808,"type":"NUMBER_INT64"}}"#,
        #"{"n":{"value":[1,-1,0],"type":"INT64_LIST"}}"#,
        #"{"d":{"value":1,"type":"DOUBLE"},"e":{"value":-1.5e300,"type":"DOUBLE"},"f":{"value":[],"type":"DOUBLE_LIST"}}"#,
        #"{"b":{"value":"aGk=","type":"BYTES"},"c":{"value":"","type":"ENCRYPTED_BYTES"}}"#,
        #"{"b":{"value":["aGk=","aA==","+/+/"],"type":"BYTES_LIST"}}"#,
        #"{"t":{"value":1769860800000,"type":"TIMESTAMP"},"u":{"value":[1.5],"type":"TIMESTAMP_LIST"}}"#,
        #"{"l":{"value":{"latitude":-90,"longitude":180},"type":"LOCATION"}}"#,
        #"{"l":{"value":{"latitude":1,"longitude":2,"horizontalAccuracy":5,"speed":-1,"timestamp":1},"type":"LOCATION"}}"#,
        #"{"r":{"value":{"recordName":"n1","action":"DELETE_SELF","zoneID":{"zoneName":"Z"}},"type":"REFERENCE"}}"#,
        #"{"r":{"value":[{"recordName":"n1"}],"type":"REFERENCE_LIST"}}"#,
        #"{"a":{"value":{"fileChecksum":"x","size":3},"type":"ASSETID"},"b":{"value":[{}],"type":"ASSET_LIST"}}"#,
        #"{"a":{"value":{},"type":"ASSET"},"b":{"value":[{}],"type":"ASSETID_LIST"}}"#,
        #"{"l":{"value":[{"latitude":1,"longitude":2}],"type":"LOCATION_LIST"}}"#,
        #"{"n":{"value":[1],"type":"NUMBER_INT64_LIST"},"c":{"value":["aA=="],"type":"ENCRYPTED_BYTES_LIST"}}"#,
        #"{"u":{"value":[],"type":"UNKNOWN_LIST"},"v":{"value":"no type"},"w":{"value":1.5},"x":{"value":{"latitude":1}}}"#,
        #"{"u":{"value":["a","b"]},"CD_title2":{"value":[]}}"#,
        #"{"r":{"value":{"recordName":"n1","action":"VALIDATE"}},"s":{"value":[{"recordName":"n1","action":"NONE"}]}}"#,
        #"{"o":{"value":{"recordName":7}},"p":{"value":{"action":"open"}}}"#,
        #"{"a":{"value":{"recordName":7,"action":"open"},"type":"ASSETID"}}"#,
        ##"{"\u0074itle":{"value":"\u0048i","type":"STR\u0049NG"}}"##,
    ]

    @Test(arguments: accepted)
    func `a valid field of each type, and a valid field without a type, is accepted`(text: String) throws {
        #expect(try fieldsError(text) == nil)
    }

    static let int64 =
        "an INT64 must be a whole number from -9223372036854775808 to 9223372036854775807, "
        + "written without fraction or exponent"
    static let noBoolean = "CloudKit has no Boolean type: write 1 or 0 as INT64"
    static let nameRule = "a field name is ASCII letters, digits and '_' with a letter first, which"

    static let refused = [
        RefusedText("[]", "member.kind", at: "", "a dictionary of fields must be an object, but this is an array"),
        RefusedText(
            #"{"a":1}"#, "member.kind", at: "a",
            #"a field must be an object {"value": …, "type": …}, but this is a number"#),
        RefusedText(
            #"{"a":{"type":"STRING"}}"#, "member.missing", at: "a.value",
            "value is required: if a field has no value, leave the field out"),
        RefusedText(#"{"1a":{"value":1}}"#, "name.characters", at: "1a", #"\#(nameRule) "1a" is not"#),
        RefusedText(
            #"{"a\nb":{"value":1}}"#, "name.characters", at: "a\nb", #"\#(nameRule) "a\u{a}b" is not"#),
        RefusedText(#"{"_a":{"value":1}}"#, "name.characters", at: "_a", #"\#(nameRule) "_a" is not"#),
        RefusedText(#"{"a b":{"value":1}}"#, "name.characters", at: "a b", #"\#(nameRule) "a b" is not"#),
        RefusedText(#"{"":{"value":1}}"#, "name.length", at: "", "a field name has 1 to 255 bytes, not 0"),
        RefusedText(
            #"{"a":{"value":1,"type":"INT46"}}"#, "word.unknown", at: "a.type",
            #"a field's type cannot be "INT46": did you mean "INT64"?"#),
        RefusedText(
            #"{"a":{"value":[1],"type":"STRINGLIST"}}"#, "word.unknown", at: "a.type",
            #"a field's type cannot be "STRINGLIST": did you mean "STRING_LIST"?"#),
        RefusedText(
            #"{"a":{"value":1,"type":7}}"#, "member.kind", at: "a.type",
            "a field's type must be a string, but this is a number"),
        RefusedText(
            #"{"a":{"value":1,"type":"STRING"}}"#, "field.value", at: "a.value",
            "a STRING must be a JSON string, but this is a number"),
        RefusedText(
            #"{"a":{"value":"1","type":"INT64"}}"#, "field.value", at: "a.value", "\(int64), but this is a string"),
        RefusedText(
            #"{"a":{"value":null,"type":"INT64"}}"#, "field.value", at: "a.value", "\(int64), but this is null"),
        RefusedText(#"{"a":{"value":1.0,"type":"INT64"}}"#, "field.value", at: "a.value", int64),
        RefusedText(#"{"a":{"value":9223372036854775808,"type":"INT64"}}"#, "field.value", at: "a.value", int64),
        RefusedText(#"{"a":{"value":-9223372036854775809,"type":"INT64"}}"#, "field.value", at: "a.value", int64),
        RefusedText(#"{"a":{"value":[1,2,3e1],"type":"INT64_LIST"}}"#, "field.value", at: "a.value[2]", int64),
        RefusedText(
            #"{"a":{"value":1,"type":"INT64_LIST"}}"#, "field.value", at: "a.value",
            "a value of a list type must be an array, but this is a number"),
        RefusedText(
            #"{"a":{"value":1e999,"type":"DOUBLE"}}"#, "field.value", at: "a.value",
            "a DOUBLE must be a number in the range of a double"),
        RefusedText(
            #"{"a":{"value":"2026-01-31","type":"TIMESTAMP"}}"#, "field.value", at: "a.value",
            "a TIMESTAMP must be a number of milliseconds since 1970, but this is a string"),
        RefusedText(
            #"{"a":{"value":"aGk","type":"BYTES"}}"#, "field.value", at: "a.value",
            "BYTES must be a string in base64 (RFC 4648, section 4) with its padding"),
        RefusedText(
            #"{"a":{"value":"a-_=","type":"BYTES"}}"#, "field.value", at: "a.value",
            "BYTES must be a string in base64 (RFC 4648, section 4) with its padding"),
        RefusedText(
            #"{"a":{"value":{"latitude":90.1,"longitude":0},"type":"LOCATION"}}"#, "field.value",
            at: "a.value.latitude", "latitude must be a number of degrees from -90 to 90"),
        RefusedText(
            #"{"a":{"value":{"latitude":9},"type":"LOCATION"}}"#, "member.missing", at: "a.value.longitude",
            "longitude is required: add it"),
        RefusedText(
            #"{"a":{"value":{"latitude":9,"longitude":9,"speed":"x"},"type":"LOCATION"}}"#, "field.value",
            at: "a.value.speed", "speed must be a number, but this is a string"),
        RefusedText(
            #"{"a":{"value":[{"recordName":"n"},{"recordName":""}],"type":"REFERENCE_LIST"}}"#, "name.length",
            at: "a.value[1].recordName", "a record name has 1 to 255 bytes, not 0"),
        RefusedText(
            #"{"a":{"value":{"recordName":"n","action":"DELETE"},"type":"REFERENCE"}}"#, "word.unknown",
            at: "a.value.action", #"a reference's action cannot be "DELETE": use NONE, DELETE_SELF or VALIDATE"#),
        RefusedText(
            #"{"a":{"value":{"recordName":"n","zoneID":{"zoneName":"_z"}},"type":"REFERENCE"}}"#, "name.reserved",
            at: "a.value.zoneID.zoneName",
            "a zone name cannot start with '_', except _defaultZone: CloudKit reserves such names"),
        RefusedText(
            #"{"a":{"value":{"recordName":"n","action":"DELETE"}}}"#, "word.unknown", at: "a.value.action",
            #"a reference's action cannot be "DELETE": use NONE, DELETE_SELF or VALIDATE"#),
        RefusedText(
            #"{"a":{"value":[{"recordName":"","action":"NONE"}]}}"#, "name.length", at: "a.value[0].recordName",
            "a record name has 1 to 255 bytes, not 0"),
        RefusedText(
            #"{"a":{"value":[{"recordName":"n","action":7}],"type":"UNKNOWN_LIST"}}"#, "member.kind",
            at: "a.value[0].action", "a reference's action must be a string, but this is a number"),
        RefusedText(
            #"{"a":{"value":"x","type":"ASSETID"}}"#, "field.value", at: "a.value",
            "an ASSETID must be an object that describes the asset, but this is a string"),
        RefusedText(#"{"a":{"value":true}}"#, "field.value", at: "a.value", noBoolean),
        RefusedText(
            #"{"a":{"value":null}}"#, "field.value", at: "a.value",
            "null is not a value: leave the field out of the record"),
        RefusedText(
            #"{"a":{"value":[1,"b"]}}"#, "field.value", at: "a.value[1]", "the elements of a list must have one type"),
        RefusedText(#"{"a":{"value":[[1]]}}"#, "field.value", at: "a.value[0]", "a list cannot contain lists"),
        RefusedText(
            #"{"a":{"value":[1,"b"],"type":"UNKNOWN_LIST"}}"#, "field.value", at: "a.value[1]",
            "the elements of a list must have one type"),
    ]

    @Test(arguments: refused)
    func `an invalid field is refused`(row: RefusedText) throws {
        #expect(try fieldsError(row.text) == row.error)
    }
}
