import CloudKitModel
import JSON
import Testing

@testable import Payload

@Suite struct `Text of a record` {
    @Test(arguments: [
        ("a", 1), ("é", 2), ("e\u{301}", 3), ("漢", 3), ("👨‍👩‍👧‍👦", 25), ("🇦🇹", 8), ("\r\n", 2), ("\"", 1), ("\u{1}", 1),
    ])
    func `is cut after its hundredth character`(character: String, bytes: Int) throws {
        #expect(character.utf8.count == bytes)
        let text = "ab" + String(repeating: character, count: 101)
        let fields = #"{"t":{"value":\#(quoted(text))}}"#
        let info = #"{"alertLocalizationKey":"K","alertLocalizationArgs":["t"]}"#
        let argument = try push(of: SampleNotification(fields: fields, info: info))[
            "payload", "aps", "alert", "loc-args"]
        #expect(argument == .list([.text("ab" + String(repeating: character, count: 98))]))
    }

    @Test func `is cut before a character that no payload has room for`() throws {
        let huge = "e" + String(repeating: "\u{301}", count: 5_000)
        for (text, kept) in [("ab\(huge)c", "ab"), (huge, ""), ("ab", "ab")] {
            let notification = SampleNotification(
                fields: #"{"t":{"value":\#(quoted(text))}}"#, info: #"{"desiredKeys":["t"]}"#)
            #expect(try push(of: notification)["payload", "ck", "qry", "af", "t"] == .text(kept))
        }
    }

    @Test func `stays whole up to a hundred characters`() throws {
        let text = String(repeating: "漢", count: 100)
        let notification = SampleNotification(
            fields: #"{"t":{"value":"\#(text)"}}"#, info: #"{"desiredKeys":["t"]}"#)
        #expect(try push(of: notification)["payload", "ck", "qry", "af", "t"] == .text(text))
    }

    @Test func `is written with the fewest escapes`() throws {
        let info = #"{"alertBody":"caf\u00e9 \/ \ud83d\ude00 \u0022"}"#
        let line = try #require(try outputs(of: [SampleNotification(info: info).line]).lines.first)
        #expect(line.contains(#""alert":"café / 😀 \"""#))
    }
}

@Suite struct `A payload that is too long` {
    /// Every part that can be left out, in the order in which they are, as paths in the payload.
    private static let order = [
        ["ck", "qry", "af", "c"], ["ck", "qry", "af", "a"], ["ck", "qry", "af", "b"],
        ["aps", "alert", "subtitle"], ["aps", "alert", "title-loc-args"], ["aps", "alert", "title-loc-key"],
        ["ck", "ckuserid"], ["ck", "cid"], ["ck", "qry", "rid"], ["ck", "qry", "fo"],
        ["aps", "content-available"], ["aps", "sound"], ["aps", "alert", "launch-image"],
        ["aps", "alert", "action-loc-key"], ["aps", "alert", "loc-args"], ["aps", "alert", "loc-key"],
        ["aps", "badge"], ["aps", "mutable-content"], ["aps", "category"], ["ck", "qry", "zoid"], ["ck", "qry", "zid"],
    ]

    @Test func `loses its parts in the documented order`() throws {
        var lost = 0
        for length in stride(from: 3000, to: 4200, by: 3) {
            let push = try push(of: SampleNotification.full(zoneName: String(repeating: "z", count: length)))
            var missing = Self.order.map { path in path.reduce(push["payload"]) { $0?[$1] } == nil }
            let isInBackground = push["headers", "apns-push-type"] == .text("background")
            #expect(isInBackground == (push["payload", "aps"]?.keys == ["content-available"]))
            // What nobody sees any more is a push of the background, which has it again.
            if isInBackground { missing[Self.order.firstIndex(of: ["aps", "content-available"]) ?? 0] = true }
            let count = missing.count { $0 }
            #expect(missing == Self.order.indices.map { $0 < count }, "\(length) bytes")
            #expect(count >= lost)
            lost = count
        }
        #expect(lost == Self.order.count)
    }

    @Test func `loses no part more than it must`() throws {
        for length in stride(from: 3000, to: 4200, by: 5) {
            let notification = SampleNotification.full(zoneName: String(repeating: "z", count: length))
            let line = try #require(try outputs(of: [notification.line]).lines.first)
            let sizes = try Self.payloadBytes(of: notification)
            let fewest = try #require(sizes.firstIndex { $0 <= 4096 })
            try #expect(payloadText(of: line).utf8.count == sizes[fewest], "\(length) bytes")
        }
    }

    /// The payload's length without its first 0, 1, 2, ... parts.
    private static func payloadBytes(of sample: SampleNotification) throws -> [Int] {
        var parser = JSONParser()
        let bytes = Array(sample.line.utf8)
        return try bytes.withUnsafeBytes { bytes in
            let writer = PayloadWriter(try Notification(try parser.parse(bytes)))
            return (0...writer.parts.count).map { writer.bytes(dropping: $0, 1) }
        }
    }

    @Test func `loses nothing at 4,096 bytes and says so at 4,097`() throws {
        let empty = try bytes(ofBody: 0)
        let (fits, fitting) = try payload(bodyBytes: 4096 - empty)
        #expect(fitting == 4096)
        #expect(fits["ck", "p"] == nil)
        let (over, shorter) = try payload(bodyBytes: 4097 - empty)
        #expect(shorter < 4097)
        #expect(over["ck", "p"] == .number("1"))
        #expect(over["ck", "ckuserid"] == nil)
        #expect(over["ck", "cid"] != nil)
    }

    @Test func `is set aside where the identifiers alone fill it`() throws {
        let line = SampleNotification(subscription: String(repeating: "s", count: 4000)).line
        #expect(try outputs(of: [line]) == StageOutput(rejections: ["payload.too_large subscriptionID"]))
    }

    @Test func `shows nothing and goes in the background where what was to be seen has no room`() throws {
        let info = #"{"alertBody":"\#(String(repeating: "b", count: 5000))","collapseIDKey":"c"}"#
        let push = try push(of: SampleNotification(info: info))
        #expect(push["payload", "aps"] == .object(["content-available": .number("1")]))
        #expect(push["payload", "ck", "p"] == .number("1"))
        #expect(
            push["headers"]
                == .object([
                    "apns-push-type": .text("background"), "apns-priority": .text("5"), "apns-collapse-id": .text("c"),
                ]))
    }

    @Test func `stands whole beside the push, to be fetched`() throws {
        let info = #"{"alertBody":"\#(String(repeating: "b", count: 4000))","desiredKeys":["t"]}"#
        var notification = SampleNotification(fields: #"{"t":{"value":"T"}}"#, info: info)
        let pruned = try push(of: notification)
        #expect(pruned["payload", "ck", "qry", "af"] == nil)
        #expect(pruned["unpruned", "ck", "qry", "af", "t"] == .text("T"))
        #expect(pruned["unpruned", "ck", "p"] == nil)
        #expect(pruned["unpruned", "aps", "alert"]?.text?.count == 4000)
        notification.info = #"{"alertBody":"b","desiredKeys":["t"]}"#
        #expect(try push(of: notification)["unpruned"] == nil)
        notification.info = #"{"alertBody":"\#(String(repeating: "b", count: Push.unprunedBytesMax))"}"#
        #expect(try push(of: notification).keys.contains("unpruned") == false)
    }

    @Test func `keeps the names of subscription and zone, as long as ingest takes them`() throws {
        let longest = String(repeating: "\"", count: 255)
        #expect(CloudKitLimits.subscriptionIDBytesMax == 255 && CloudKitLimits.zoneNameBytesMax == 255)
        for type in ["query", "zone", "database"] {
            var notification = SampleNotification.full(zoneName: longest)
            (notification.type, notification.subscription, notification.record) = (type, longest, longest)
            (notification.user, notification.zoneOwner, notification.database) = (longest, longest, "shared")
            notification.info = #"{"alertBody":"\#(String(repeating: "b", count: 9_000))","shouldBadge":true}"#
            let push = try push(of: notification)
            let family = ["query": "qry", "zone": "fet", "database": "met"][type] ?? ""
            for key in ["sid", "zid", "zoid"] { #expect(push["payload", "ck", family, key] == .text(longest)) }
            #expect(push["payload", "ck", "nid"] == .text(notification.id))
        }
    }

    @Test func `keeps the flag of a background push`() throws {
        let push = try push(of: SampleNotification(subscription: String(repeating: "s", count: 3900)))
        #expect(push["payload", "aps"] == .object(["content-available": .number("1")]))
        #expect(push["payload", "ck", "p"] == .number("1"))
    }

    private func payload(bodyBytes: Int) throws -> (Tree, bytes: Int) {
        let info = #"{"alertBody":"\#(String(repeating: "b", count: bodyBytes + 1))"}"#
        let line = try #require(try outputs(of: [SampleNotification(info: info).line]).lines.first)
        let text = try payloadText(of: line)
        return (try Tree(text), text.utf8.count)
    }

    private func bytes(ofBody bodyBytes: Int) throws -> Int { try payload(bodyBytes: bodyBytes).bytes }
}

extension SampleNotification {
    /// A notification with every kind of part.
    static func full(zoneName: String) -> SampleNotification {
        SampleNotification(
            zoneName: zoneName,
            fields: #"{"a":{"value":1},"b":{"value":2},"c":{"value":3}}"#,
            info: #"{"desiredKeys":["b","a","c"],"subtitle":"s","titleLocalizationKey":"t","#
                + #""titleLocalizationArgs":["a"],"shouldSendContentAvailable":true,"soundName":"s","#
                + #""alertLaunchImage":"l","alertActionLocalizationKey":"a","alertLocalizationKey":"b","#
                + #""alertLocalizationArgs":["a"],"shouldBadge":true,"shouldSendMutableContent":true,"category":"c"}"#)
    }
}
