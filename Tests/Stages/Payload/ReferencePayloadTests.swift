import Testing

@testable import Payload

/// Payloads that CloudKit sent, with made-up identifiers and without white space between the parts of the JSON. Only
/// the payload of a zone subscription was not captured. It was written in the form that CloudKit's clients parse.
@Suite struct `The reference payloads` {
    private let alice = SampleNotification.alice

    @Test func `of a silent database subscription`() throws {
        let notification = SampleNotification(type: "database", subscription: "all-private")
        try expect(
            notification,
            #"{"aps":{"content-available":1},"ck":{"ce":2,"cid":"iCloud.com.example.Notes","ckuserid":"\#(alice)","#
                + #""met":{"dbs":1,"sid":"all-private","zid":"Notes","zoid":"\#(alice)"},"#
                + #""nid":"5b1c9a2e-6d0f-4b53-9c1e-0a4f3f6d7e05"}}"#)
    }

    @Test func `of a query subscription with alert, badge and sound`() throws {
        var notification = SampleNotification()
        notification.info = #"{"alertBody":"A note was added","shouldBadge":true,"soundName":"default"}"#
        let sevenTimes = Array(repeating: notification.line, count: 7)
        let line = try #require(try outputs(of: sevenTimes).lines.last)
        try #expect(
            payloadText(of: line)
                == #"{"aps":{"alert":"A note was added","badge":7,"sound":"default"},"ck":{"ce":2,"#
                + #""cid":"iCloud.com.example.Notes","ckuserid":"\#(alice)","nid":"5b1c9a2e-6d0f-4b53-9c1e-0a4f3f6d7e05","#
                + #""qry":{"dbs":1,"fo":1,"rid":"record-2","sid":"my-notes","zid":"Notes","zoid":"\#(alice)"}}}"#)
    }

    @Test func `of a query subscription with desired keys`() throws {
        var notification = SampleNotification(reason: "update", record: "record-3")
        notification.fields = #"{"title":{"value":"Shopping","type":"STRING"},"stars":{"value":5,"type":"INT64"}}"#
        notification.info = #"{"title":"Notes","alertBody":"Shopping changed","desiredKeys":["title","stars"]}"#
        try expect(
            notification,
            #"{"aps":{"alert":{"body":"Shopping changed","title":"Notes"}},"ck":{"ce":2,"#
                + #""cid":"iCloud.com.example.Notes","ckuserid":"\#(alice)","nid":"5b1c9a2e-6d0f-4b53-9c1e-0a4f3f6d7e05","#
                + #""qry":{"af":{"stars":5,"title":"Shopping"},"dbs":1,"fo":2,"rid":"record-3","sid":"my-notes","#
                + #""zid":"Notes","zoid":"\#(alice)"}}}"#)
    }

    @Test func `of a silent query subscription on the public database`() throws {
        var notification = SampleNotification(database: "public", subscription: "public-notes", record: "record-1")
        (notification.zoneName, notification.zoneOwner) = ("_defaultZone", "_defaultOwner")
        notification.info = #"{"shouldSendContentAvailable":true}"#
        try expect(
            notification,
            #"{"aps":{"content-available":1},"ck":{"ce":2,"cid":"iCloud.com.example.Notes","ckuserid":"\#(alice)","#
                + #""nid":"5b1c9a2e-6d0f-4b53-9c1e-0a4f3f6d7e05","qry":{"dbs":2,"fo":1,"rid":"record-1","#
                + #""sid":"public-notes","zid":"_defaultZone","zoid":"_defaultOwner"}}}"#)
    }

    @Test func `of a silent zone subscription`() throws {
        let notification = SampleNotification(type: "zone", subscription: "zone-notes")
        try expect(
            notification,
            #"{"aps":{"content-available":1},"ck":{"ce":2,"cid":"iCloud.com.example.Notes","ckuserid":"\#(alice)","#
                + #""fet":{"dbs":1,"sid":"zone-notes","zid":"Notes","zoid":"\#(alice)"},"#
                + #""nid":"5b1c9a2e-6d0f-4b53-9c1e-0a4f3f6d7e05"}}"#)
    }

    private func expect(_ notification: SampleNotification, _ payload: String) throws {
        let line = try #require(try outputs(of: [notification.line]).lines.first)
        try #expect(payloadText(of: line) == payload)
    }
}
