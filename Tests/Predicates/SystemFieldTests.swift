import Testing

@testable import Predicates

struct SystemFieldTests {
    private static let record = #"""
        {"recordName":"n1","recordType":"Note","recordChangeTag":"t7","fields":{"created":{"value":1}},
         "created":{"timestamp":1767225600000,"userRecordName":"_alice","deviceID":"d"},
         "modified":{"timestamp":1767225600001,"userRecordName":"_bob"}}
        """#

    @Test(arguments: [
        ("recordID == 'n1'", true), ("recordName = 'n1'", true), ("recordID != 'n1'", false),
        ("recordID == 'N1'", false),
        ("recordID == reference('n1')", true), ("recordID IN {'n2', 'n1'}", true), ("'n1' == ___recordID", true),
        ("creatorUserRecordID == '_alice'", true), ("lastModifiedUserRecordID == '_alice'", false),
        ("___createdBy == '_alice'", true), ("recordChangeTag == 'T7'", true), ("recordChangeTag ==[n] 'T7'", false),
        ("creationDate == 1767225600000", true), ("creationDate < CAST('2026-01-01T00:00:00.001Z', 'NSDate')", true),
        ("creationDate < CAST('2026-01-01T00:00:00Z', 'NSDate')", false),
        ("modificationDate > CAST('2026-01-01T01:00:00+01:00', 'NSDate')", true),
        ("creationDate == CAST(788918400, 'NSDate')", true), ("creationDate == CAST(788918400.0, 'NSDate')", true),
        ("creationDate BETWEEN {CAST('2025-12-31T23:59:59Z', 'NSDate'), 1767225600000}", true),
        ("creationDate != nil", true), ("created == 1", true), ("#creationDate == 1767225600000", false),
        ("NOT #recordID == 'n1'", false),
    ])
    func `a predicate's text can compare CloudKit's system fields`(_ text: String, _ holds: Bool) throws {
        #expect(try RecordPredicate(text: text).matches(record: Self.record) == holds)
        #expect(try !RecordPredicate(text: text).matches(record: #"{"fields":{}}"#))
    }

    @Test(arguments: [
        ("recordName", #"{"value":"n1"}"#), ("recordID", #"{"value":{"recordName":"n1"},"type":"REFERENCE"}"#),
        ("createdTimestamp", #"{"value":1767225600000,"type":"TIMESTAMP"}"#), ("created", #"{"value":1767225600000}"#),
        ("___modTime", #"{"value":1767225600001}"#), ("createdUserRecordName", #"{"value":"_alice"}"#),
        ("modifiedUserRecordName", #"{"value":{"recordName":"_bob"}}"#), ("recordChangeTag", #"{"value":"t7"}"#),
    ])
    func `filterBy distinguishes system fields from the app's fields`(_ name: String, _ value: String) throws {
        let predicate = try RecordPredicate.filter(
            #"[{"comparator":"EQUALS","systemFieldName":"\#(name)","fieldValue":\#(value)}]"#)
        #expect(try predicate.matches(record: Self.record))
        #expect(try !predicate.matches(record: #"{"fields":{"\#(name)":\#(value)}}"#))
        // An app's field cannot have such a name.
        guard !name.hasPrefix("___") else { return }
        let own = try RecordPredicate.filter(
            #"[{"comparator":"EQUALS","fieldName":"\#(name)","fieldValue":\#(value)}]"#)
        #expect(try !own.matches(record: Self.record) && own.matches(record: #"{"fields":{"\#(name)":\#(value)}}"#))
    }

    @Test
    func `missing modification fields get the user and time of the save, and creation fields too if it is a create`()
        throws
    {
        func holds(_ text: String, _ record: String, isCreate: Bool) throws -> Bool {
            try withJSON(record) { record in
                try withJSON(#""_alice""#) { user in
                    try RecordPredicate(text: text).matches(
                        record["fields"], of: record,
                        save: RecordSave(user: user, milliseconds: 1_767_225_600_000, isCreate: isCreate))
                }
            }
        }
        for isCreate in [true, false] {
            #expect(try holds("lastModifiedUserRecordID == '_alice'", "{}", isCreate: isCreate))
            #expect(try holds("modificationDate == 1767225600000", "{}", isCreate: isCreate))
            #expect(try holds("creatorUserRecordID == '_alice'", "{}", isCreate: isCreate) == isCreate)
            #expect(try holds("creationDate == 1767225600000", "{}", isCreate: isCreate) == isCreate)
            #expect(try !holds("recordChangeTag != nil", "{}", isCreate: isCreate))
            #expect(try !holds("recordID != nil", "{}", isCreate: isCreate))
            #expect(try holds("lastModifiedUserRecordID == '_bob'", Self.record, isCreate: isCreate))
        }
    }

    @Test func `a system field with the wrong type counts as missing`() throws {
        for record in [#"{"created":{"timestamp":"1"}}"#, #"{"created":7}"#, #"{"created":{"timestamp":null}}"#] {
            #expect(try !RecordPredicate(text: "creationDate != nil").matches(record: record))
        }
    }

    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0), ("2000-02-29T12:30:15.5Z", 951_827_415_500), ("1969-12-31T23:59:59.999z", -1),
        ("2026-01-31 00:00:00-05:30", 1_769_837_400_000), ("9999-12-31T23:59:59Z", 253_402_300_799_000),
        ("0001-01-01T00:00:00Z", -62_135_596_800_000), ("2026-03-01T00:00:00.1239Z", 1_772_323_200_123),
    ])
    func `dates are read in the form of RFC 3339`(_ text: String, _ milliseconds: Int64) throws {
        #expect(
            try RecordPredicate(text: "d == CAST('\(text)', 'NSDate')").clauses[0].values == [.integer(milliseconds)])
    }

    @Test(arguments: [
        "2025-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01", "2026-01-01T00:00:00",
        "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00+1:00", "1900-02-29T00:00:00Z", "2026-01-00T00:00:00Z", "",
        "2026-01-01T00:00:00ZZ", "２026-01-01T00:00:00Z", "0000-01-01T00:00:00Z",
    ])
    func `an invalid date is refused`(_ text: String) {
        #expect(throws: PredicateError.self) { try RecordPredicate(text: "d == CAST('\(text)', 'NSDate')") }
    }
}
