import BelfryTestKit
import PipelineTestKit
import Testing

@Suite struct WholePipeline {
    static let yaml = """
        pipeline: whole
        stages:
          ingest: {}
          match: {from: ingest}
          coalesce: {from: match, window: 2s, maximumDelay: 5s}
          payload: {from: coalesce}
          deliver:
            from: payload
            transports:
              apns: {use: console}
        """

    static func device(_ user: String, _ device: String) -> String {
        """
        {"type":"device.register","container":"iCloud.com.example.Notes","environment":"development","user":"\(user)",\
        "device":"\(device)","transport":"apns","token":"\(user)-\(device)","topic":"com.example.Notes"}
        """
    }

    static func subscription(_ user: String, _ id: String, info: String) -> String {
        """
        {"type":"subscription.save","container":"iCloud.com.example.Notes","environment":"development",\
        "database":"private","user":"\(user)","subscription":{"subscriptionID":"\(id)","subscriptionType":"query",\
        "query":{"recordType":"Note"},"zoneWide":true,"firesOn":["create","update"],"notificationInfo":\(info)}}
        """
    }

    static func note(_ name: String, owner: String, from device: String, title: String) -> String {
        """
        {"type":"record.save","container":"iCloud.com.example.Notes","environment":"development","database":"private",\
        "owner":"\(owner)","origin":{"user":"\(owner)","device":"\(device)"},"record":{"recordName":"\(name)",\
        "recordType":"Note","zoneID":{"zoneName":"Notes","ownerRecordName":"\(owner)"},\
        "fields":{"title":{"value":"\(title)","type":"STRING"}}}}
        """
    }

    @Test func `a change becomes a push to the user's other device, not to the device that made it`() async throws {
        let belfry = try await TestPipeline.start(yaml: Self.yaml)
        let admission = try await belfry.send(
            Self.device("_alice", "phone"), Self.device("_alice", "mac"), Self.device("_bob", "phone"),
            Self.subscription("_alice", "feed", info: #"{"alertBody":"A note"}"#),
            Self.note("n1", owner: "_alice", from: "mac", title: "Hi"))
        #expect(admission.accepted == 5)
        try await belfry.settle()
        #expect(belfry.pushes.count == 1)
        #expect(belfry.pushes.first?.contains(#""device":"phone""#) == true)
        let outcomes = try belfry.outcomes().filter { $0.contains(#""type":"outcome""#) }
        #expect(outcomes.count == 2)
        try await belfry.stop()
    }

    @Test func `the first notification is sent at once, and one more at the end of the window`() async throws {
        let belfry = try await TestPipeline.start(yaml: Self.yaml)
        try await belfry.send(
            Self.device("_alice", "phone"),
            Self.subscription("_alice", "silent", info: #"{"shouldSendContentAvailable":true}"#),
            Self.note("n1", owner: "_alice", from: "mac", title: "1"))
        try await belfry.settle()
        #expect(belfry.pushes.count == 1)
        try await belfry.advance(by: .seconds(1))
        for name in ["n2", "n3"] { try await belfry.send(Self.note(name, owner: "_alice", from: "mac", title: "2")) }
        try await belfry.settle()
        #expect(belfry.pushes.count == 1)
        try await belfry.advance(by: .seconds(1))
        #expect(belfry.pushes.count == 2)
        try await belfry.stop()
    }
}
