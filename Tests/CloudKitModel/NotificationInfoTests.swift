import CloudKitModel
import Testing

struct NotificationInfoTests {
    @Test func `all eighteen properties of a notification info are accepted together`() throws {
        let text = """
            {"alertBody":"b","alertLocalizationKey":"k","alertLocalizationArgs":["title"],"title":"t",
             "titleLocalizationKey":"k","titleLocalizationArgs":["a","b","c","d"],"subtitle":"s",
             "subtitleLocalizationKey":"k","subtitleLocalizationArgs":[],"alertActionLocalizationKey":"k",
             "alertLaunchImage":"i.png","soundName":"default","desiredKeys":["a","b","c"],"shouldBadge":true,
             "shouldSendContentAvailable":false,"shouldSendMutableContent":true,"category":"c","collapseIDKey":"id"}
            """
        #expect(try infoError(text) == nil)
        #expect(try infoError(text.replacing("desiredKeys", with: "additionalFields")) == nil)
    }

    @Test(arguments: [
        "alertBody", "alertLocalizationKey", "title", "titleLocalizationKey", "subtitle", "subtitleLocalizationKey",
        "alertActionLocalizationKey", "alertLaunchImage", "soundName", "category",
    ])
    func `a text of a notification info must be a string`(key: String) throws {
        let expected = ModelError("member.kind", at: key, "\(key) must be a string, but this is a number")
        #expect(try infoError(#"{"\#(key)":1}"#) == expected)
        #expect(try infoError(#"{"\#(key)":""}"#) == nil)
    }

    @Test(arguments: ["shouldBadge", "shouldSendContentAvailable", "shouldSendMutableContent"])
    func `a flag of a notification info must be true or false`(key: String) throws {
        let expected = ModelError("member.kind", at: key, "\(key) must be true or false, but this is a string")
        #expect(try infoError(#"{"\#(key)":"true"}"#) == expected)
    }

    @Test(arguments: [
        "alertLocalizationArgs", "titleLocalizationArgs", "subtitleLocalizationArgs", "desiredKeys", "additionalFields",
    ])
    func `a list of a notification info must contain field names`(key: String) throws {
        #expect(
            try infoError(#"{"\#(key)":"title"}"#)
                == ModelError("member.kind", at: key, "\(key) must be an array of field names, but this is a string"))
        #expect(
            try infoError(#"{"\#(key)":["title",1]}"#)
                == ModelError("member.kind", at: "\(key)[1]", "a field name must be a string, but this is a number"))
        #expect(try infoError(#"{"\#(key)":["1st"]}"#)?.code == "name.characters")
    }

    @Test(arguments: ["desiredKeys", "additionalFields"])
    func `a fourth or repeated desired key is refused`(key: String) throws {
        #expect(try infoError(#"{"\#(key)":["a","b","c"]}"#) == nil)
        let reason = "a notification carries at most 3 desired keys, not 4: take some out"
        #expect(
            try infoError(#"{"\#(key)":["a","b","c","d"]}"#)
                == ModelError("notification.desired_keys", at: "\(key)[3]", reason))
        #expect(
            try infoError(#"{"\#(key)":["a","b","a"]}"#)
                == ModelError("notification.desired_keys", at: "\(key)[2]", #""a" is listed twice: take one out"#))
    }

    @Test(arguments: ["alertLocalizationArgs", "titleLocalizationArgs", "subtitleLocalizationArgs"])
    func `more than a hundred arguments of a text are refused`(key: String) throws {
        func names(_ count: Int) -> String { [String](repeating: #""a""#, count: count).joined(separator: ",") }
        #expect(try infoError(#"{"\#(key)":[\#(names(100))]}"#) == nil)
        let reason = "a text has at most 100 arguments, not 101: take some out"
        #expect(
            try infoError(#"{"\#(key)":[\#(names(101))]}"#)
                == ModelError("notification.arguments", at: "\(key)[100]", reason))
    }

    @Test func `desiredKeys together with additionalFields is refused`() throws {
        let expected = ModelError(
            "member.conflict", at: "additionalFields",
            "additionalFields and desiredKeys are two names of the same member: keep one of them")
        #expect(try infoError(#"{"desiredKeys":["a"],"additionalFields":["a"]}"#) == expected)
    }

    @Test func `a collapse ID has 1 to 64 bytes`() throws {
        #expect(try infoError(#"{"collapseIDKey":"\#(String(repeating: "c", count: 64))"}"#) == nil)
        #expect(
            try infoError(#"{"collapseIDKey":"\#(String(repeating: "c", count: 65))"}"#)
                == ModelError("name.length", at: "collapseIDKey", "a collapse ID has 1 to 64 bytes, not 65"))
        // 63 characters, 65 bytes
        let wide = String(repeating: "c", count: 61) + "éé"
        #expect(try infoError(#"{"collapseIDKey":"\#(wide)"}"#)?.code == "name.length")
        #expect(try infoError(#"{"collapseIDKey":""}"#)?.code == "name.length")
    }

    @Test(arguments: [#"a\r\nb"#, "é", " a", "a ", #"\u0000"#, #"\u007f"#])
    func `a collapse ID that is not valid in a header is refused`(id: String) throws {
        let error = try infoError(#"{"collapseIDKey":"\#(id)"}"#)
        #expect(error?.code == "name.characters")
        #expect(error?.path == "collapseIDKey")
    }

    @Test(arguments: [
        ("alertbody", "alertBody"), ("desiredKey", "desiredKeys"), ("collapseIdKey", "collapseIDKey"),
        ("shouldSendContentAvailible", "shouldSendContentAvailable"),
    ])
    func `an error about a misspelt property names the nearest property`(written: String, meant: String) throws {
        let error = try infoError(#"{"\#(written)":"x"}"#)
        #expect(error?.code == "member.unknown")
        #expect(error?.path == written)
        #expect(error?.reason.contains("\"\(meant)\"") == true)
    }
}
