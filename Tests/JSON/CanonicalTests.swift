import Testing

@testable import JSON

struct CanonicalTests {
    private static func canonical(_ text: String) throws -> ExactText {
        var parser = JSONParser()
        return try Array(text.utf8).withUnsafeBytes {
            ExactText(String(decoding: try parser.parse($0).canonical, as: UTF8.self))
        }
    }

    @Test(arguments: [
        (#"{"b":1,"a":[true,null,"x"]}"#, #" { "a" : [ true , null , "\u0078" ] , "\u0062" : 1.0 } "#),
        (#"{"n":1500}"#, #"{"n":1.5e3}"#), (#"{"n":0.5}"#, #"{"n":5E-1}"#), (#""é/""#, #""\u00e9\/""#),
        ("[9223372036854775807]", "[ 9223372036854775807 ]"), ("{}", " {\n}"), ("0", "-0.0"),
    ])
    func `equal values have the same canonical form`(one: String, other: String) throws {
        #expect(try Self.canonical(one) == Self.canonical(other))
    }

    @Test(arguments: [
        (#"{"a":"1"}"#, #"{"a":1}"#), ("[1,2]", "[2,1]"), (#""é""#, #""e\u0301""#),
        ("9223372036854775807", "9223372036854775806"), ("[]", "{}"), (#"{"a":null}"#, "{}"),
    ])
    func `different values have different canonical forms`(one: String, other: String) throws {
        #expect(try Self.canonical(one) != Self.canonical(other))
    }

    @Test func `the canonical form sorts members and shortens numbers`() throws {
        #expect(try Self.canonical(#"{ "b": [1, 2.50], "a": {"\u0022": "\n"} }"#) == #"{"a":{"\"":"\n"},"b":[1,2.5]}"#)
    }
}
