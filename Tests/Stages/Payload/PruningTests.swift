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

    @Test func `is cut before a character that is too long for a payload`() throws {
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
}

@Suite struct `A payload that is too long` {
    /// All parts that can be left out, in the order in which they are left out. The last two are the zone's owner and
    /// name. The manual says that the zone always stays, because ingest accepts only short names. The tests also use
    /// longer names.
    private static let order: [PayloadParts] = [
        .thirdField, .secondField, .firstField, .subtitle, .subtitleArguments, .subtitleKey, .title, .titleArguments,
        .titleKey, .userRecordName, .container, .recordName, .reason, .contentAvailable, .sound, .launchImage,
        .actionKey,
        .body, .bodyArguments, .bodyKey, .badge, .mutableContent, .category, .zoneOwner, .zoneName,
    ]
    private static let visible: PayloadParts = [
        .subtitle, .subtitleArguments, .subtitleKey, .title, .titleArguments, .titleKey, .sound, .launchImage,
        .actionKey, .body, .bodyArguments, .bodyKey, .badge, .mutableContent, .category,
    ]

    /// The parts that stay according to the manual. The algorithm of the manual removes and adds one part at a time.
    private static func expectedParts(_ writer: PayloadWriter, _ badge: Int) -> PayloadParts {
        var kept = writer.parts
        var lost: [PayloadParts] = []
        for part in order where kept.contains(part) && writer.bytes(kept, badge) > 4096 {
            kept.remove(part)
            lost.append(part)
        }
        let backwards = Array(lost.reversed())
        for part in backwards.filter(visible.contains) + backwards.filter({ !visible.contains($0) })
        where writer.bytes(kept.union(part), badge) <= 4096 { kept.formUnion(part) }
        return kept
    }

    private static func withWriter(
        _ sample: SampleNotification, _ body: (PayloadWriter) throws -> Void
    ) throws {
        var parser = JSONParser()
        let bytes = Array(sample.line.utf8)
        try bytes.withUnsafeBytes {
            let json = try parser.parse($0)
            try body(PayloadWriter(try Notification(JSONView(json))))
        }
    }

    @Test func `loses its parts in the documented order, and gets back the parts that fit`() throws {
        var lost: PayloadParts = []
        for length in stride(from: 3000, to: 4200, by: 3) {
            try Self.withWriter(.full(zoneName: String(repeating: "z", count: length))) { writer in
                let kept = writer.fittingParts(1)
                #expect(kept == Self.expectedParts(writer, 1), "\(length) bytes")
                lost.formUnion(writer.parts.subtracting(kept))
            }
        }
        #expect(lost.isSuperset(of: [.thirdField, .subtitle, .container, .reason, .sound, .zoneOwner, .zoneName]))
    }

    @Test(arguments: [0, 1_000_000_000])
    func `loses no part for which there is room`(badge: Int) throws {
        let texts = { (count: Int) in String(repeating: "x", count: count) }
        for (body, title, sound) in [(3_850, 30, 10), (3_990, 100, 10), (3_900, 4_000, 3), (4_500, 1_900, 1_900)] {
            let info =
                #"{"alertBody":"\#(texts(body))","title":"\#(texts(title))","soundName":"\#(texts(sound))","#
                + #""shouldBadge":true,"category":"c"}"#
            try Self.withWriter(SampleNotification(info: info)) { writer in
                let kept = writer.fittingParts(badge)
                #expect(kept != writer.parts && writer.bytes(kept, badge) <= 4096)
                let all = Self.order.filter(writer.parts.contains)
                for subset in 0..<(1 << all.count) {
                    let other = PayloadParts(all.indices.filter { subset & 1 << $0 != 0 }.map { all[$0] })
                    guard other.isStrictSuperset(of: kept) else { continue }
                    #expect(writer.bytes(other, badge) > 4096, "\(body), \(title), \(sound): \(other)")
                }
            }
        }
    }

    @Test func `loses only the part that is too long`() throws {
        let long = String(repeating: "x", count: 4_500)
        let category = try push(of: SampleNotification(info: #"{"alertBody":"hi","category":"\#(long)"}"#))
        #expect(category["payload", "aps"] == .object(["alert": .text("hi")]))
        #expect(category["payload", "ck", "p"] == .number("1") && category["payload", "ck", "cid"] != nil)
        let info = #"{"alertBody":"\#(long.prefix(3_990))","title":"Notes","soundName":"bell"}"#
        let body = try push(of: SampleNotification(info: info))
        #expect(body["payload", "aps", "alert"] == .object(["title": .text("Notes")]))
        #expect(body["payload", "aps", "sound"] == .text("bell"))
        #expect(body["headers", "apns-push-type"] == .text("alert"))
    }

    @Test func `is measured with the badge of its topic`() throws {
        let set =
            #"{"type":"badge.set","container":"iCloud.com.example.Notes","environment":"development","#
            + #""user":"\#(SampleNotification.alice)","topic":"com.example.Nobody","badge":1000000}"#
        for length in [3_000, 3_700, 3_800] {
            let info = #"{"shouldBadge":true,"alertBody":"\#(String(repeating: "x", count: length))"}"#
            let notification = SampleNotification(info: info)
            let alone = try payloadText(of: #require(try outputs(of: [notification.line]).lines.first))
            let room = 4096 - alone.utf8.count
            let full = SampleNotification(
                info: #"{"shouldBadge":true,"alertBody":"\#(String(repeating: "x", count: length + room))"}"#)
            let push = try Tree(#require(try outputs(of: [set, full.line]).lines.last))
            #expect(push["payload", "aps", "alert"]?.text?.count == length + room)
            #expect(push["payload", "ck", "p"] == nil && push["payload", "ck", "cid"] != nil)
            let other = push["payloadByTopic"]?["com.example.Nobody"]
            #expect(other?["aps"]?["badge"] == .number("1000001") && other?["ck"]?["p"] == .number("1"))
            #expect(other?["aps"]?["alert"]?.text?.count == length + room && other?["ck"]?["ckuserid"] == nil)
        }
    }

    @Test func `loses nothing at 4,096 bytes, and loses a part and has the pruning flag at 4,097`() throws {
        let shortest = try payload(bodyBytes: 1).bytes
        let (fits, fitting) = try payload(bodyBytes: 1 + 4096 - shortest)
        #expect(fitting == 4096)
        #expect(fits["ck", "p"] == nil)
        let (over, shorter) = try payload(bodyBytes: 1 + 4097 - shortest)
        #expect(shorter < 4097)
        #expect(over["ck", "p"] == .number("1"))
        #expect(over["ck", "ckuserid"] == nil)
        #expect(over["ck", "cid"] != nil)
    }

    @Test func `becomes a dead letter if its identifiers alone are too long`() throws {
        let line = SampleNotification(subscription: String(repeating: "s", count: 4000)).line
        #expect(try outputs(of: [line]) == StageOutput(rejections: ["payload.too_large subscriptionID"]))
    }

    @Test func `becomes a background push if no visible part has room`() throws {
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

    @Test func `is complete in the member unpruned, which clients can fetch, unless it exceeds 1 MiB`() throws {
        let info = #"{"alertBody":"\#(String(repeating: "b", count: 4000))","desiredKeys":["t"]}"#
        var notification = SampleNotification(fields: #"{"t":{"value":"T"}}"#, info: info)
        let pruned = try push(of: notification)
        #expect(pruned["payload", "aps", "alert"] == nil)
        #expect(pruned["unpruned", "ck", "qry", "af", "t"] == .text("T"))
        #expect(pruned["unpruned", "ck", "p"] == nil)
        #expect(pruned["unpruned", "aps", "alert"]?.text?.count == 4000)
        notification.info = #"{"alertBody":"b","desiredKeys":["t"]}"#
        #expect(try push(of: notification)["unpruned"] == nil)
        notification.info = #"{"alertBody":"\#(String(repeating: "b", count: Push.unprunedBytesMax))"}"#
        #expect(try push(of: notification).keys.contains("unpruned") == false)
    }

    @Test func `keeps the longest subscription ID, zone name and zone owner that ingest accepts`() throws {
        let longest = String(repeating: "\"", count: 255)
        #expect(CloudKitLimits.subscriptionIDBytesMax == 255 && CloudKitLimits.zoneNameBytesMax == 255)
        #expect(CloudKitLimits.userNameBytesMax == 255)
        for type in ["query", "zone", "database"] {
            var notification = SampleNotification.full(zoneName: longest)
            (notification.type, notification.subscription, notification.record) = (type, longest, longest)
            (notification.user, notification.zoneOwner, notification.database) = (longest, longest, "shared")
            notification.info = #"{"alertBody":"\#(String(repeating: "b", count: 9_000))","shouldBadge":true}"#
            let push = try push(of: notification)
            let ckKey = ["query": "qry", "zone": "fet", "database": "met"][type] ?? ""
            for key in ["sid", "zid", "zoid"] { #expect(push["payload", "ck", ckKey, key] == .text(longest)) }
            #expect(push["payload", "ck", "nid"] == .text(notification.id))
        }
    }

    @Test func `keeps content-available in a background push`() throws {
        let push = try push(of: SampleNotification(subscription: String(repeating: "s", count: 3900)))
        #expect(push["payload", "aps"] == .object(["content-available": .number("1")]))
        #expect(push["payload", "ck", "p"] == .number("1"))
    }

    private func payload(bodyBytes: Int) throws -> (Tree, bytes: Int) {
        let info = #"{"alertBody":"\#(String(repeating: "b", count: bodyBytes))"}"#
        let line = try #require(try outputs(of: [SampleNotification(info: info).line]).lines.first)
        let text = try payloadText(of: line)
        return (try Tree(text), text.utf8.count)
    }
}

extension SampleNotification {
    /// A notification with nearly every part. The subtitle is literal. The title and the body are localized.
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
