import PipelineKit
import Testing

@testable import TransportAPNs

/// Tests which pushes are rejected before they are sent.
@Suite struct PushRuleTests {
    private static let app = "com.example.Notes"

    /// Why the push is rejected; nil if it is accepted.
    private func refusal(
        _ type: String, priority: String? = nil, topic: String = Self.app, body: String = #"{"aps":{"alert":"Hi"}}"#,
        usesCertificate: Bool = false
    ) -> String? {
        var reader = APNsPushReader(collapsesRepeats: true)
        return refusal(
            by: &reader, type, priority: priority, topic: topic, body: body, usesCertificate: usesCertificate)
    }

    private func refusal(
        by reader: inout APNsPushReader, _ type: String, priority: String? = nil, topic: String = Self.app,
        body: String = #"{"aps":{"alert":"Hi"}}"#, usesCertificate: Bool = false
    ) -> String? {
        let priority = (priority ?? (type == "background" ? "5" : "10"))
        let line =
            #"{"token":"00ff","headers":{"apns-id":"976ec45b-c157-8d46-a9cc-000000000001","#
            + #""apns-push-type":"\#(type)","apns-priority":"\#(priority)"},"payload":\#(body)}"#
        let push = Delivery(id: .init(push: 1, device: "phone"), transport: "apns", line: Array(line.utf8))
        do throws(UnsendablePush) {
            _ = try reader.read(push, topic: topic, usesCertificate: usesCertificate)
            return nil
        } catch { return error.reason }
    }

    private static let wakesOnly = #"{"aps":{"content-available":1}}"#
    private static let wakesWithData = #"{"aps":{"content-available":1},"ck":{"ce":2}}"#

    @Test func `an alert push with only content-available in aps is rejected`() {
        for body in [Self.wakesOnly, Self.wakesWithData] {
            #expect(refusal("alert", body: body)?.contains("send it as background") == true)
        }
        for aps in [#"{"content-available":1,"badge":0}"#, #"{"sound":"x"}"#, #"{"mutable-content":1}"#, "{}"] {
            #expect(refusal("alert", body: #"{"aps":\#(aps)}"#) == nil)
        }
        #expect(refusal("alert", body: "{}") == nil, "an empty payload is legal")
    }

    @Test func `a push with nothing but content-available in its payload cannot have priority 10`() {
        #expect(
            refusal("voip", topic: Self.app + ".voip", body: Self.wakesOnly)
                == "a push with only content-available must have apns-priority 5, not 10")
        #expect(refusal("voip", priority: "5", topic: Self.app + ".voip", body: Self.wakesOnly) == nil)
        #expect(refusal("voip", topic: Self.app + ".voip", body: Self.wakesWithData) == nil)
    }

    @Test func `a background push must have priority 5 and nothing for the user`() {
        #expect(refusal("background", body: Self.wakesWithData) == nil)
        for priority in ["10", "1"] {
            #expect(
                refusal("background", priority: priority, body: Self.wakesWithData)
                    == "a background push with apns-priority \(priority): it must be 5")
        }
        for key in ["alert", "badge", "sound"] {
            let body = #"{"aps":{"content-available":1,"\#(key)":1}}"#
            #expect(refusal("background", body: body)?.contains("with an alert, badge or sound") == true)
        }
    }

    private static let suffixes = [
        ("voip", ".voip"), ("complication", ".complication"), ("controls", ".push-type.controls"),
        ("fileprovider", ".pushkit.fileprovider"), ("liveactivity", ".push-type.liveactivity"),
        ("location", ".location-query"), ("pushtotalk", ".voip-ptt"), ("widgets", ".push-type.widgets"),
    ]

    @Test(arguments: suffixes) func `a topic must end with the suffix of its push type`(type: String, suffix: String) {
        #expect(refusal(type, topic: Self.app + suffix) == nil)
        for topic in [Self.app, suffix, Self.app + (type == "voip" ? ".voip-ptt" : ".voip")] {
            #expect(
                refusal(type, topic: topic)
                    == "the topic \(topic) of a \(type) push is not a bundle ID followed by \(suffix)")
        }
        for (otherType, body) in [("alert", #"{"aps":{"alert":"Hi"}}"#), ("background", Self.wakesOnly)] {
            let refusal = refusal(otherType, topic: Self.app + suffix, body: body)
            #expect(refusal == "the topic \(Self.app)\(suffix) is for \(type) pushes, not for \(otherType)")
        }
    }

    @Test func `a push of an unknown type may have any topic`() {
        for topic in [Self.app, Self.app + ".voip"] {
            #expect(refusal("mdm", topic: topic) == nil && refusal("holograms", topic: topic) == nil)
        }
    }

    @Test(arguments: [("location", ".location-query"), ("liveactivity", ".push-type.liveactivity")])
    func `location and Live Activity pushes cannot be sent with a certificate`(type: String, suffix: String) {
        let refusal = refusal(type, topic: Self.app + suffix, usesCertificate: true)
        #expect(refusal == "a \(type) push cannot be sent with a certificate: the app needs a key")
        #expect(self.refusal("alert", usesCertificate: true) == nil)
    }

    @Test(arguments: ["null", "[]", #""text""#, "7"]) func `a payload must be a JSON object`(body: String) {
        #expect(refusal("alert", body: body) == "the payload is not a JSON object")
    }

    @Test func `a push is checked even if a push of the same type was accepted before`() {
        var reader = APNsPushReader(collapsesRepeats: true)
        #expect(refusal(by: &reader, "alert") == nil)
        #expect(refusal(by: &reader, "alert", body: Self.wakesOnly) != nil)
        #expect(refusal(by: &reader, "alert", topic: Self.app + ".voip") != nil)
        #expect(refusal(by: &reader, "location", topic: Self.app + ".location-query") == nil)
        #expect(refusal(by: &reader, "location", topic: Self.app + ".location-query", usesCertificate: true) != nil)
        #expect(refusal(by: &reader, "alert") == nil)
    }

    @Test func `a device token is an even number of hexadecimal digits, at most 512`() throws {
        for token in ["00", "6A0f", String(repeating: "f", count: 512)] {
            #expect(try APNsTransport.address(token) == token.lowercased())
        }
        for token in ["", "zz", "abc", "a/b", "0", "ＡＢ", "%0a0", String(repeating: "f", count: 514)] {
            #expect(throws: Rejection(code: "device.token", reason: DeviceToken.rejection, path: "token")) {
                try APNsTransport.address(token)
            }
        }
    }
}
