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
            let missing = Self.order.map { path in path.reduce(push["payload"]) { $0?[$1] } == nil }
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
            let writer = PayloadWriter(notification: try Notification(try parser.parse(bytes)), badge: 1)
            return (0...writer.parts.count).map { count in
                var buffer = ByteBuffer()
                writer.write(writer.parts.dropping(count), into: &buffer)
                return buffer.count
            }
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
