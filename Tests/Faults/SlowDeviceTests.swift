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
    private static let slow = "00ff"

    @Test func oneSlowDeviceDisturbsNoOther() async throws {
        let slow = #"{"when":{"token":"\#(Self.slow)"},"do":{"latency":2500}}"#
        try await Self.compare(slow: slow) { $0 == 0 }
    }

    /// Two apps of one key share their streams.
    @Test func oneSlowAppDisturbsNoOtherOfItsKey() async throws {
        let slow = #"{"when":{"topic":"com.example.Other"},"do":{"latency":[300,400]}}"#
        try await Self.compare(slow: slow, isShared: true) { $0 % 4 > 1 }
    }

    /// - Parameter isSlow: Whether a user's device is answered slowly.
    private static func compare(slow: String, isShared: Bool = false, isSlow: (Int) -> Bool) async throws {
        let others = Set((0..<users).filter { !isSlow($0) })
        let healthy = #"{"do":{"latency":30}}"#
        let calm = try await story(script: #"{"script":[\#(healthy)]}"#, of: others, isShared)
        let disturbed = try await story(script: #"{"script":[\#(slow),\#(healthy)]}"#, of: others, isShared)
        #expect(calm.problems + disturbed.problems == [])
        #expect(disturbed.outOfOrder == [])
        #expect(calm.superseded == 0 && disturbed.superseded == 0)
        print("nine of ten pushes of healthy devices: \(calm.ninetieth) ms, \(disturbed.ninetieth) ms")
        guard Tier.current == .full else { return }
        #expect(disturbed.ninetieth <= calm.ninetieth * 6 / 5)
    }

    private static func story(script: String, of healthy: Set<Int>, _ isShared: Bool) async throws -> Story {
        let apns = try await RunningAPNs(script: script, streams: 100)
        let (superseded, problems) = try await SocketThread.run(name: "faults") {
            let apps = isShared ? apns.other : ""
            let pipeline = try LivePipeline(transport: apns.transport(apps: apps, more: ", connections: 1"))
            try pipeline.send(commands(isShared))
            try pipeline.waitFor("outcome", changes)
            let superseded = try pipeline.outcomes().count { line in
                line.contains(#""outcome":"superseded""#) && line.contains(#""attempts":0"#)
                    && healthy.contains { line.contains(#""user":"_u\#($0)""#) }
            }
            return (superseded, try pipeline.stop() + pipeline.problemsOfLogs())
        }
        try await apns.stop()
        var story = Story(superseded: superseded, problems: problems)
        let tokens = Set(healthy.map(token))
        let requests = apns.accepted.filter { tokens.contains($0.token ?? "") && !$0.isRepeat }
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

    private static func token(_ user: Int) -> String { user == 0 ? slow : String(format: "%04x", user) }

    private static func commands(_ isShared: Bool) -> [String] {
        let app = { isShared && $0 % 4 > 1 ? "Other" : "Notes" }
        return (0..<users).map { device($0, app($0)) } + (0..<users).map { subscription($0, app($0)) }
            + (0..<changes).map { note($0, app($0 % users)) }
    }

    private static func place(_ app: String) -> String {
        #""container":"iCloud.com.example.\#(app)","environment":"development""#
    }

    private static func device(_ user: Int, _ app: String) -> String {
        #"{"type":"device.register",\#(place(app)),"user":"_u\#(user)","device":"phone","transport":"apns","#
            + #""token":"\#(token(user))","topic":"com.example.\#(app)"}"#
    }

    /// Every second one has a collapse ID.
    private static func subscription(_ user: Int, _ app: String) -> String {
        let collapse = user % 2 == 1 ? #","collapseIDKey":"c""# : ""
        return #"{"type":"subscription.save",\#(place(app)),"database":"private","user":"_u\#(user)","#
            + #""subscription":{"subscriptionID":"feed","subscriptionType":"query","query":{"recordType":"Note"},"#
            + #""zoneWide":true,"firesOn":["create"],"notificationInfo":{"alertBody":"A note"\#(collapse)}}}"#
    }

    private static func note(_ number: Int, _ app: String) -> String {
        let user = number % users
        return #"{"type":"record.save",\#(place(app)),"database":"private","owner":"_u\#(user)","record":{"#
            + #""recordName":"n\#(number)","recordType":"Note","zoneID":{"zoneName":"Notes","#
            + #""ownerRecordName":"_u\#(user)"},"fields":{}}}"#
    }
}

extension RunningAPNs {
    /// Another app of the same key.
    fileprivate var other: String {
        """
        , other: {container: iCloud.com.example.Other, topic: com.example.Other, team: TEAMLOCAL1, key: KEYLOCAL12, \
        keyFile: {$file: \(key)}}
        """
    }
}
