import CloudKitModel
import Events
import JSON
import Testing

@testable import Payload

@Suite struct `A push` {
    @Test func `has its user, headers and causes`() throws {
        var notification = SampleNotification(user: "_bob", subscription: "feed")
        notification.origin = #"{"user":"_alice","device":"alice-mac"}"#
        notification.info = #"{"alertBody":"Hi","collapseIDKey":"notes"}"#
        let line = try #require(try outputs(of: [notification.line]).lines.first)
        let payload = try payloadText(of: line)
        #expect(
            line == #"{"type":"push","notificationID":"\#(notification.id)","container":"iCloud.com.example.Notes","#
                + #""environment":"development","user":"_bob","subscriptionID":"feed","#
                + #""origin":{"user":"_alice","device":"alice-mac"},"headers":{"apns-push-type":"alert","#
                + #""apns-priority":"10","apns-collapse-id":"notes"},"payload":\#(payload),"#
                + #""causes":\#(SampleNotification.causes)}"#)
    }

    @Test(arguments: [
        nil, "null", "{}", #"{"shouldSendContentAvailable":true,"shouldBadge":false,"title":"","desiredKeys":[]}"#,
        #"{"shouldSendContentAvailable":true,"desiredKeys":["title"]}"#, #"{"additionalFields":["title"]}"#,
        #"{"alertLocalizationArgs":["title"],"titleLocalizationArgs":["title"],"subtitleLocalizationArgs":["title"]}"#,
    ])
    func `is a background push if the info has nothing that a user notices`(info: String?) throws {
        let push = try push(of: SampleNotification(info: info))
        #expect(push["headers"] == .object(["apns-push-type": .text("background"), "apns-priority": .text("5")]))
        #expect(push["payload", "aps"] == .object(["content-available": .number("1")]))
    }

    @Test(arguments: [
        #""shouldBadge":true"#, #""soundName":"default""#, #""title":"T""#, #""category":"C""#, #""alertBody":"B""#,
        #""shouldSendMutableContent":true"#, #""alertLocalizationKey":"K""#, #""titleLocalizationKey":"K""#,
        #""subtitle":"S""#, #""subtitleLocalizationKey":"K""#, #""alertActionLocalizationKey":"K""#,
        #""alertLaunchImage":"L""#,
    ])
    func `is an alert if the info has a property that a user notices, or that changes what a user notices`(
        property: String
    ) throws {
        for info in ["{\(property)}", #"{\#(property),"shouldSendContentAvailable":true,"desiredKeys":["title"]}"#] {
            let push = try push(of: SampleNotification(info: info))
            #expect(push["headers"] == .object(["apns-push-type": .text("alert"), "apns-priority": .text("10")]))
            #expect(push["payload", "aps"]?.keys.subtracting(["content-available"]).isEmpty == false)
        }
    }

    @Test func `is a background push if coalesce treats it as silent, and otherwise an alert`() throws {
        for property in NotificationProperty.allCases {
            let value =
                switch property.kind {
                case .arguments, .fieldNames: #"["title"]"#
                case .flag: "true"
                case .text, .collapseID: #""x""#
                }
            let info = #"{"\#(property)":\#(value)}"#
            let type = try push(of: SampleNotification(info: info))["headers", "apns-push-type"]
            var parser = JSONParser()
            let isSilent = try Array(info.utf8).withUnsafeBytes {
                NotificationVisibility.isSilent(try parser.parse($0))
            }
            #expect(type == .text(isSilent ? "background" : "alert"), "\(property)")
        }
    }

    @Test(arguments: [(nil, nil), (.zero, "0"), (.seconds(3600), "1700003600")] as [(Duration?, String?)])
    func `has an expiration if the settings have one`(duration: Duration?, header: String?) throws {
        let settings = PayloadSettings(expiration: duration)
        let lines = try outputs(of: [SampleNotification().line], at: 1_700_000_000_999_999, settings).lines
        let headers = try Tree(try #require(lines.first))["headers"]
        #expect(headers?["apns-expiration"] == header.map { .text($0) })
    }

    @Test(arguments: ["", " a", "a\t", "a\nb", String(repeating: "é", count: 33)])
    func `omits a collapse ID that cannot be a header`(id: String) throws {
        let push = try push(of: SampleNotification(info: #"{"title":"T","collapseIDKey":\#(quoted(id))}"#))
        #expect(push["headers"]?.keys == ["apns-push-type", "apns-priority"])
    }
}

@Suite struct `The aps dictionary` {
    @Test func `has its properties under their APNs keys, and no literal text if there is a localization key`() throws {
        let info =
            #"{"alertLocalizationKey":"B","alertLocalizationArgs":["title"],"titleLocalizationKey":"T","#
            + #""titleLocalizationArgs":["stars"],"subtitleLocalizationKey":"S","subtitleLocalizationArgs":["made"],"#
            + #""alertActionLocalizationKey":"A","alertLaunchImage":"L","soundName":"ding","shouldBadge":true,"#
            + #""category":"C","shouldSendContentAvailable":true,"shouldSendMutableContent":true,"#
            + #""alertBody":"b","title":"t","subtitle":"s"}"#
        let line = try #require(try outputs(of: [SampleNotification(fields: fields, info: info).line]).lines.first)
        try #expect(
            payloadText(of: line).hasPrefix(
                #"{"aps":{"alert":{"action-loc-key":"A","launch-image":"L","loc-args":["Hi"],"loc-key":"B","#
                    + #""subtitle-loc-args":["1700000000000"],"subtitle-loc-key":"S","title-loc-args":["4.50"],"#
                    + #""title-loc-key":"T"},"badge":1,"category":"C","content-available":1,"mutable-content":1,"#
                    + #""sound":"ding"},"ck":{"#))
    }

    @Test func `has literal texts without arguments if there are no localization keys`() throws {
        let info = #"{"alertBody":"b","title":"t","subtitle":"s","titleLocalizationArgs":["title"]}"#
        let alert = try push(of: SampleNotification(fields: fields, info: info))["payload", "aps", "alert"]
        #expect(alert == .object(["body": .text("b"), "title": .text("t"), "subtitle": .text("s")]))
    }

    @Test func `has texts with the fewest escapes`() throws {
        let info = #"{"alertBody":"caf\u00e9 \/ \ud83d\ude00 \u0022"}"#
        let line = try #require(try outputs(of: [SampleNotification(info: info).line]).lines.first)
        #expect(line.contains(#""alert":"café / 😀 \"""#))
    }

    @Test func `has an empty string for an argument that the record lacks or that has an unfit type`() throws {
        let names = #"["none","title","place","stars","empty","friend",7,"bytes","title"]"#
        let info = #"{"alertLocalizationKey":"K","alertLocalizationArgs":\#(names)}"#
        let arguments = try push(of: SampleNotification(fields: fields, info: info))[
            "payload", "aps", "alert", "loc-args"]
        let none = Tree.text("")
        #expect(
            arguments == .list([none, .text("Hi"), none, .text("4.50"), none, none, none, none, .text("Hi")]))
    }
}

@Suite struct `The ck dictionary` {
    @Test(arguments: [("create", "1"), ("update", "2"), ("delete", "3")])
    func `has the code of the reason`(reason: String, code: String) throws {
        #expect(try push(of: SampleNotification(reason: reason))["payload", "ck", "qry", "fo"] == .number(code))
    }

    @Test(arguments: [
        ("private", "1", "_alice"), ("public", "2", "_defaultOwner"), ("shared", "3", "_bob"),
    ])
    func `has the zone owner and the code of the database`(database: String, code: String, owner: String) throws {
        let notification = SampleNotification(user: "_alice", database: database, zoneOwner: "_bob")
        let query = try push(of: notification)["payload", "ck", "qry"]
        #expect(query?["dbs"] == .number(code))
        #expect(query?["zoid"] == .text(owner))
    }

    @Test func `has the code of the environment`() throws {
        #expect(try push(of: SampleNotification(environment: "production"))["payload", "ck", "ce"] == .number("1"))
    }

    @Test func `has the default zone if the notification has none`() throws {
        let line = SampleNotification().line.replacing(#/,"zoneID":{[^}]*}/#, with: "")
        let output = try outputs(of: [line])
        #expect(try Tree(output.lines[0])["payload", "ck", "qry", "zid"] == .text("_defaultZone"))
    }

    @Test func `has the first three desired fields, except fields that the record lacks`() throws {
        let info = #"{"additionalFields":["title","none","place","stars"]}"#
        let values = try push(of: SampleNotification(fields: fields, info: info))["payload", "ck", "qry", "af"]
        #expect(
            values
                == .object([
                    "title": .text("Hi"),
                    "place": .object(["latitude": .number("48.2"), "longitude": .number("16.37")]),
                ]))
    }

    @Test func `has dates, references and numbers, but no bytes, lists or nulls`() throws {
        let zone = Tree.object(["ownerRecordName": .text("_bob"), "zoneName": .text("Z")])
        let friend = Tree.object(["action": .text("NONE"), "recordName": .text("f"), "zoneID": zone])
        #expect(
            try desired("made", "stars", "friend")
                == .object([
                    "made": .number("1700000000000"), "stars": .number("4.50"), "friend": friend,
                ]))
        #expect(try desired("bytes", "tags", "empty") == nil)
        #expect(try desired("title", "title") == .object(["title": .text("Hi")]))
    }

    @Test func `has the pruning flag if the payload cannot contain a desired value or an argument`() throws {
        for keys in [#"["bytes"]"#, #"["title","tags"]"#] {
            let desired = SampleNotification(fields: fields, info: #"{"title":"T","desiredKeys":\#(keys)}"#)
            #expect(try push(of: desired)["payload", "ck", "p"] == .number("1"), "\(keys)")
        }
        for names in [#"["place"]"#, #"["title","friend"]"#, #"["bytes"]"#] {
            let info = #"{"subtitleLocalizationKey":"K","subtitleLocalizationArgs":\#(names)}"#
            let push = try push(of: SampleNotification(fields: fields, info: info))
            #expect(push["payload", "ck", "p"] == .number("1"), "\(names)")
            #expect(push["unpruned"] == nil, "nothing was too long")
        }
        let lacking =
            #"{"alertLocalizationKey":"K","alertLocalizationArgs":["none","empty"],"desiredKeys":["none","empty"]}"#
        #expect(try push(of: SampleNotification(fields: fields, info: lacking))["payload", "ck", "p"] == nil)
    }

    @Test func `has no fields for a deleted record or a zone subscription`() throws {
        let info = #"{"desiredKeys":["title"]}"#
        let deleted = SampleNotification(reason: "delete", fields: fields, info: info)
        #expect(try push(of: deleted)["payload", "ck", "qry", "af"] == nil)
        let zone = SampleNotification(type: "zone", fields: fields, info: info)
        #expect(try push(of: zone)["payload", "ck", "fet"]?.keys == ["dbs", "sid", "zid", "zoid"])
    }

    private func desired(_ names: String...) throws -> Tree? {
        let list = names.map(quoted).joined(separator: ",")
        let notification = SampleNotification(fields: fields, info: #"{"desiredKeys":[\#(list)]}"#)
        return try push(of: notification)["payload", "ck", "qry", "af"]
    }
}

@Suite struct `The payload stage` {
    @Test func `passes on device events, and events of unknown or no type, unchanged`() throws {
        let events = [#"{"type":"device.register","user":"_alice"}"#, #"{"type":"new.word","n":1.50}"#, #"{"a":1}"#]
        #expect(try outputs(of: events).lines == events)
    }

    @Test func `does not pass on events of type coalesced`() throws {
        #expect(try outputs(of: [#"{"type":"coalesced","match":1}"#]) == StageOutput())
    }

    @Test func `understands a notification with escaped or repeated keys`() throws {
        let line = SampleNotification(fields: fields, info: #"{"title":"T","desiredKeys":["title"]}"#).line
        let plain = try outputs(of: [line])
        for key in ["causes", "user", "zoneID", "zoneName", "subscriptionType", "fields", "notificationInfo", "value"] {
            let escaped = #""\#(key.dropLast())\u00\#(String(key.utf8.last ?? 0, radix: 16))""#
            #expect(try outputs(of: [line.replacing("\"\(key)\"", with: escaped)]) == plain, "\(key)")
        }
        #expect(
            try outputs(of: [String(line.dropLast()) + #","user":"_eve","causes":[]}"#]) == plain,
            "the first member counts")
    }

    @Test(arguments: [
        (#""environment":"development""#, #""environment":"test""#, "notification.word environment"),
        (#""reason":"create""#, #""reason":1"#, "notification.kind reason"),
        (#""user":"#, #""usr":"#, "notification.missing user"),
        (#""causes":["#, #""cause":["#, "notification.missing causes"),
        (#""zoneName":"Notes""#, #""zoneName":7"#, "notification.kind zoneID.zoneName"),
        (
            #""title":"T""#, #""titleLocalizationArgs":[\#(String(repeating: #""a","#, count: 100))"a"]"#,
            "notification.arguments notificationInfo.titleLocalizationArgs"
        ),
        (#""title":"T""#, #""title":["T"]"#, "notification.kind notificationInfo.title"),
        (#""shouldBadge":true"#, #""shouldBadge":1"#, "notification.kind notificationInfo.shouldBadge"),
        (#"{"title":"T","shouldBadge":true}"#, #""T""#, "notification.kind notificationInfo"),
    ])
    func `rejects an invalid notification as a dead letter`(part: String, broken: String, reason: String) throws {
        let line = SampleNotification(info: #"{"title":"T","shouldBadge":true}"#).line
        #expect(line.contains(part))
        let output = try outputs(of: [line.replacing(part, with: broken)])
        #expect(output == StageOutput(lines: [], rejections: [reason]))
    }
}

private let fields =
    #"{"title":{"value":"Hi","type":"STRING"},"stars":{"value":4.50,"type":"DOUBLE"},"#
    + #""made":{"value":1700000000000,"type":"TIMESTAMP"},"empty":{"value":null,"type":"STRING"},"#
    + #""place":{"value":{"latitude":48.2,"longitude":16.37,"altitude":171},"type":"LOCATION"},"#
    + #""friend":{"value":{"recordName":"f","zoneID":{"zoneName":"Z","ownerRecordName":"_bob"},"action":"NONE"}},"#
    + #""bytes":{"value":"AAEC","type":"BYTES"},"tags":{"value":["a"],"type":"STRING_LIST"}}"#
