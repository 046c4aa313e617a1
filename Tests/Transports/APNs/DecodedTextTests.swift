import PipelineKit
import Testing
import Time

@testable import TransportAPNs

/// Tests that the JSON strings of a push are decoded before they are sent.
@Suite(.timeLimit(.minutes(5))) struct DecodedTexts {
    /// Ways to write a printable ASCII character in JSON.
    private static func jsonForms(_ byte: UInt8) -> [String] {
        let digits = String(byte, radix: 16)
        let long = "\\u00" + (digits.count == 1 ? "0" : "") + digits
        let character = String(Unicode.Scalar(byte))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): return [long, "\\" + character]
        case UInt8(ascii: "/"): return [long, character, "\\/"]
        default: return [long, character]
        }
    }

    @Test func `a collapse ID with any printable ASCII character arrives, with or without JSON escapes`() async throws {
        try await APNsRig.with { rig in
            var pushes: [Delivery] = []
            var expected: [String: String] = [:]
            for byte: UInt8 in 0x20...0x7E {
                for form in Self.jsonForms(byte) {
                    let push = apnsPush(UInt64(pushes.count + 1), collapse: "a\(form)b")
                    pushes.append(push)
                    expected[id(pushes.count)] = "a\(Unicode.Scalar(byte))b"
                }
            }
            let answers = await rig.deliverUntilFinal(pushes)
            #expect(answers.count == pushes.count)
            #expect(
                answers.allSatisfy { $0.outcome == .accepted }, "\(answers.first { $0.outcome != .accepted } as Any)")
            let sent = rig.apns.received.map { ($0.id, $0.header("apns-collapse-id") ?? "") }
            #expect(Dictionary(sent, uniquingKeysWith: { $1 }) == expected)
        }
    }

    private func id(_ number: Int) -> String { "976ec45b-c157-8d46-a9cc-" + hex(number) }

    private func hex(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 12 - digits.count) + digits
    }

    @Test func `tokens, topics and the other headers are decoded too`() async throws {
        try await APNsRig.with { rig in
            let line =
                #"{"token":"\u0061\u0062","headers":{"apns-id":"\u0039#(id(1).dropFirst())","#
                + #""apns-topic":"com.example.\u004eotes","apns-push-type":"\u0061lert","#
                + #""apns-priority":"1\u0030","apns-expiration":"\u0034102444800"},"payload":{"aps":{"alert":"Hi"}}}"#
            let text = line.replacing("#(id(1).dropFirst())", with: id(1).dropFirst())
            let push = Delivery(
                id: .init(push: 1, device: "phone"), transport: "apns", app: APNsRig.app, head: Array(text.utf8),
                rest: [])
            #expect(await rig.deliver(push)[0].outcome == .accepted)
            let request = try #require(rig.apns.received.first)
            #expect(request.id == id(1) && request.token == "ab" && request.topic == "com.example.Notes")
            #expect(request.header("apns-push-type") == "alert" && request.header("apns-priority") == "10")
            #expect(request.header("apns-expiration") == "4102444800")
            #expect(request.header("apns-collapse-id") == id(1))
        }
    }

    @Test func `the order key and the expiration of a push do not depend on JSON escapes`() throws {
        var reader = APNsPushReader(collapsesRepeats: true)
        let plain = try reader.read(apnsPush(1, collapse: "a"), topic: "t")
        let escaped = try reader.read(apnsPush(2, collapse: "\\u0061"), topic: "t")
        #expect(plain.orderKey != nil && plain.orderKey == escaped.orderKey)
        let expiring = try reader.read(apnsPush(3, expiration: "\\u0034102444800"), topic: "t")
        #expect(expiring.expiration == Instant(rfc3339: "2100-01-01T00:00:00Z"))
    }

    @Test(arguments: [#"a\nb"#, #"a\u000db"#, #"a\u0000b"#, #"\u007f"#, #"\u0020a"#, #"a\u0020"#, " a", #"\ta"#])
    func `a collapse ID that HTTP cannot carry is rejected before it is sent`(_ collapse: String) {
        var reader = APNsPushReader(collapsesRepeats: true)
        do {
            _ = try reader.read(apnsPush(1, collapse: collapse), topic: "t")
            Issue.record("\(collapse) is not rejected")
        } catch {
            #expect(error.reason == "the value of the header apns-collapse-id is not a string that HTTP can carry")
        }
    }
}
