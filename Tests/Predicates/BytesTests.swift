import Testing

@testable import Predicates

/// Bytes are written as strings. Only the type in the field's dictionary distinguishes bytes from strings.
struct BytesTests {
    @Test(
        arguments: [
            ("a == bytes('AQID')", "BYTES", true), ("a == bytes('AQID')", "ENCRYPTED_BYTES", true),
            ("a == bytes('AQID')", "STRING", false), ("a == bytes('AQID')", nil, true),
            ("a != bytes('AAAA')", "BYTES", true), ("a != bytes('AAAA')", "STRING", false),
            ("a < bytes('/w==')", "BYTES", true), ("a < bytes('/w==')", "STRING", false),
            ("a == 'AQID'", "STRING", true), ("a == 'AQID'", nil, true), ("a == 'AQID'", "BYTES", false),
            ("a != 'x'", "BYTES", false), ("a BEGINSWITH 'AQ'", "BYTES", false), ("a BEGINSWITH 'AQ'", "STRING", true),
            ("a IN {bytes('AQID'), bytes('AAAA')}", "BYTES", true), ("a IN {'AQID', 'x'}", "BYTES", false),
            ("a IN {bytes('AQID'), 'x'}", "BYTES", true), ("a IN {bytes('AQID'), 'x'}", "STRING", false),
            ("a IN {bytes('AAAA'), 'aqid'}", "BYTES", false), ("a IN {bytes('AAAA'), 'aqid'}", "STRING", true),
            ("NOT a IN {bytes('AQID'), 'x'}", "STRING", true), ("NOT a IN {bytes('AQID'), 'x'}", "BYTES", false),
            ("a != nil", "BYTES", true), ("a != nil", "STRING", true),
        ] as [(String, String?, Bool)])
    func `a comparison of a string with bytes can hold only if the field has no type`(
        _ text: String, _ type: String?, _ holds: Bool
    ) throws {
        let named = type.map { #","type":"\#($0)""# } ?? ""
        let predicate = try RecordPredicate(text: text)
        try withJSON(#"{"a":{"value":"AQID"\#(named)}}"#) { #expect(predicate.matches($0) == holds) }
    }

    @Test(arguments: [
        ("tags CONTAINS bytes('AQID')", "BYTES_LIST", true), ("tags CONTAINS bytes('AQID')", "STRING_LIST", false),
        ("tags CONTAINS 'AQID'", "STRING_LIST", true), ("tags CONTAINS 'AQID'", "BYTES_LIST", false),
        ("tags CONTAINS bytes('AQID')", "ENCRYPTED_BYTES_LIST", true),
        ("tags CONTAINS 'AQID'", "ENCRYPTED_BYTES_LIST", false),
        ("ANY tags IN {bytes('AQID'), 'x'}", "STRING_LIST", false),
        ("ANY tags IN {bytes('AQID'), 'x'}", "BYTES_LIST", true),
        ("tags CONTAINS ALL {bytes('AQID'), 'AQID'}", "STRING_LIST", false),
        ("tags CONTAINS ALL {bytes('AQID'), 'AQID'}", "BYTES_LIST", false),
    ])
    func `a STRING_LIST contains no bytes, and a list of bytes contains no strings`(
        _ text: String, _ type: String, _ holds: Bool
    ) throws {
        let predicate = try RecordPredicate(text: text)
        try withJSON(#"{"tags":{"value":["AQID"],"type":"\#(type)"}}"#) { #expect(predicate.matches($0) == holds) }
    }
}
