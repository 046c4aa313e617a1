import BelfryTestKit
import PipelineTestKit
import Testing

@Test func `a new note sends a push to the user's other device`() async throws {
    let belfry = try await TestPipeline.start(yaml: notes)
    try await belfry.send(
        #"{"type":"device.register",\#(place),"user":"_alice","device":"phone","transport":"apns","token":"1","topic":"notes"}"#,
        #"{"type":"device.register",\#(place),"user":"_alice","device":"mac","transport":"apns","token":"2","topic":"notes"}"#,
        #"{"type":"subscription.save",\#(place),"database":"private","user":"_alice","subscription":\#(subscription)}"#)

    let answer = try await belfry.send(
        #"{"type":"record.save",\#(place),"database":"private","owner":"_alice","#
            + #""origin":{"user":"_alice","device":"mac"},"record":\#(note)}"#)
    #expect(answer.accepted == 1)

    let push = await belfry.nextPush()
    #expect(push.contains(#""device":"phone""#))
    #expect(push.contains(#""alert":"A note""#))
    try await belfry.settle()
    // The mac has an outcome too: no push, because the mac made the change.
    #expect(try belfry.outcomes().count == 2)

    // The subscription has a collapse ID, so a notification within the next second waits until this second is over.
    // This change has no origin, so both devices get a push.
    try await belfry.send(
        #"{"type":"record.save",\#(place),"database":"private","owner":"_alice","record":\#(note)}"#)
    try await belfry.settle()
    #expect(belfry.pushes.count == 1)
    try await belfry.advance(by: .seconds(1))
    #expect(belfry.pushes.count == 3)
    try await belfry.stop()
}

private let place = #""container":"iCloud.com.example.Notes","environment":"development""#

private let subscription = """
    {"subscriptionID":"notes","subscriptionType":"zone","zoneID":{"zoneName":"Notes"},\
    "notificationInfo":{"alertBody":"A note","collapseIDKey":"notes"}}
    """

private let note = """
    {"recordName":"n1","recordType":"Note","zoneID":{"zoneName":"Notes","ownerRecordName":"_alice"},\
    "fields":{"title":{"value":"Hi","type":"STRING"}}}
    """

private let notes = """
    pipeline: notes
    stages:
      ingest: {}
      match: {from: ingest}
      coalesce: {from: match, window: 1s, maximumDelay: 5s}
      payload: {from: coalesce}
      deliver: {from: payload, transports: {apns: {use: console}}}
    """
