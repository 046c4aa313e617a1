import Foundation
import LocalAPNs
import PipelineRuntime
import TestSupport
import Testing
import ZeroMQ

/// One device of many, one app or one server answers slowly: the others notice nothing.
@Suite(.serialized) struct SlowDevices {
    /// What the APNs of this machine saw of healthy devices, and what the log says.
    private struct Story {
        /// The tokens whose pushes were sent in another order than they were made.
        var outOfOrder: [String] = []
        /// How long after the first request nine of ten had been sent.
        var ninetieth = 0
        var superseded = 0
        var problems: [String] = []
    }

    private static let changes = 800
    private static let users = 80
    /// Every second one has a collapse ID.
    private static let plain = stride(from: 0, to: users, by: 2)
    private static let slow = "00ff"

    @Test func oneSlowDeviceDisturbsNoOther() async throws {
        let calm = try await Self.story(script: #"{"script":[{"do":{"latency":30}}]}"#)
        let disturbed = try await Self.story(
            script: #"{"script":[{"when":{"token":"\#(Self.slow)"},"do":{"latency":2500}},{"do":{"latency":30}}]}"#)
        #expect(calm.problems + disturbed.problems == [])
        #expect(disturbed.outOfOrder == [])
        #expect(calm.superseded == 0 && disturbed.superseded == 0)
        print("nine of ten pushes of healthy devices: \(calm.ninetieth) ms, \(disturbed.ninetieth) ms")
        guard Tier.current == .full else { return }
        #expect(disturbed.ninetieth <= calm.ninetieth * 6 / 5)
    }

    private static func story(script: String) async throws -> Story {
        let apns = try await RunningAPNs(script: script, streams: 100)
        let (superseded, problems) = try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline(transport: apns.transport(more: ", connections: 1"))
            try pipeline.send(commands)
            try pipeline.waitFor("outcome", changes)
            let outcomes = try pipeline.outcomes()
            let superseded = outcomes.count {
                $0.contains(#""outcome":"superseded""#) && $0.contains(#""attempts":0"#)
                    && !$0.contains(#""user":"_u0""#)
            }
            return (superseded, try pipeline.stop() + pipeline.problemsOfLogs())
        }
        try await apns.stop()
        var story = Story(superseded: superseded, problems: problems)
        let requests = apns.accepted.filter { $0.token != slow && !$0.isRepeat }
        story.outOfOrder = outOfOrder(requests)
        let times = requests.map(\.time).sorted()
        if let first = times.first { story.ninetieth = Int(times[times.count * 9 / 10] - first) }
        return story
    }

    private static func outOfOrder(_ requests: [RecordedRequest]) -> [String] {
        Dictionary(grouping: requests) { $0.token ?? "" }.filter { _, requests in
            let sent = requests.sorted { $0.stream < $1.stream }.compactMap { number(of: $0.body) }
            return sent != sent.sorted()
        }.keys.sorted()
    }

    /// `"rid":"n17"`: the change that it tells of.
    private static func number(of body: [UInt8]) -> Int? {
        let text = String(decoding: body, as: UTF8.self)
        return text.range(of: #""rid":"n"#).flatMap { Int(text[$0.upperBound...].prefix { $0.isNumber }) }
    }

    // MARK: What is fed

    private static let place = #""container":"iCloud.com.example.Notes","environment":"development""#

    private static var commands: [String] {
        (0..<users).map(device) + (0..<users).map(subscription) + (0..<changes).map(note)
    }

    private static func device(_ user: Int) -> String {
        let token = user == 0 ? slow : String(format: "%04x", user)
        return #"{"type":"device.register",\#(place),"user":"_u\#(user)","device":"phone","transport":"apns","#
            + #""token":"\#(token)","topic":"com.example.Notes"}"#
    }

    private static func subscription(_ user: Int) -> String {
        let collapse = user % 2 == 1 ? #","collapseIDKey":"c""# : ""
        return #"{"type":"subscription.save",\#(place),"database":"private","user":"_u\#(user)","subscription":{"#
            + #""subscriptionID":"feed","subscriptionType":"query","query":{"recordType":"Note"},"zoneWide":true,"#
            + #""firesOn":["create"],"notificationInfo":{"alertBody":"A note"\#(collapse)}}}"#
    }

    private static func note(_ number: Int) -> String {
        let user = number % users
        return #"{"type":"record.save",\#(place),"database":"private","owner":"_u\#(user)","record":{"#
            + #""recordName":"n\#(number)","recordType":"Note","zoneID":{"zoneName":"Notes","#
            + #""ownerRecordName":"_u\#(user)"},"fields":{}}}"#
    }
}
