import Foundation
import LocalAPNs
import PipelineRuntime
import TestSupport
import Testing
import ZeroMQ

/// Tests that, while a device, app or server is slow, the pushes to the other devices keep their order, and that newer
/// pushes do not supersede them. The delays are printed, but not checked.
@Suite(.serialized) struct SlowDevices {
    /// What the local APNs and deliver's log show about the devices that are not slow.
    private struct Observations {
        /// The tokens whose pushes were sent out of order.
        var outOfOrder: [String] = []
        /// Milliseconds until nine of ten requests had come.
        var delayOfNineTenths = 0
        /// How many pushes to these devices were superseded before they were sent.
        var superseded = 0
        var problems: [String] = []
    }

    /// The slow part of the system.
    enum Part: CaseIterable {
        case device
        /// One of two apps with the same key, which share their streams.
        case app
        /// One of two servers. It answers no request.
        case server

        /// Whether the user belongs to the slow part.
        func has(_ user: Int) -> Bool {
            switch self {
            case .device: user == 0
            case .app: user % 4 > 1
            case .server: user % 4 == 0
            }
        }

        /// Entries of the first local APNs' script that slow this part down. A slow server needs none: it is the second
        /// local APNs, which has a script of its own.
        var scriptEntries: String {
            switch self {
            case .device: #"{"when":{"token":"\#(token(0))"},"do":{"latency":2500}},"#
            case .app: #"{"when":{"topic":"com.example.Other"},"do":{"latency":[300,400]}},"#
            case .server: ""
            }
        }
    }

    private static let changes = 800
    private static let users = 80

    @Test(arguments: Tier.some(of: Part.allCases))
    func `while a device, app or server is slow, other pushes stay in order and are not superseded`(
        _ part: Part
    ) async throws {
        let calm = try await Self.observe(part, isSlow: false)
        let disturbed = try await Self.observe(part, isSlow: true)
        #expect(calm.problems + disturbed.problems == [])
        #expect(disturbed.outOfOrder == [])
        // If the machine is too slow for the changes, pushes wait and are superseded even without a slow part.
        #expect(calm.superseded > 0 || disturbed.superseded == 0)
        print(
            "nine of ten pushes came in \(disturbed.delayOfNineTenths) ms beside a slow \(part), "
                + "and in \(calm.delayOfNineTenths) ms without it"
        )
    }

    private static func observe(_ part: Part, isSlow: Bool) async throws -> Observations {
        let script = #"{"script":[\#(isSlow ? part.scriptEntries : ""){"do":{"latency":30}}]}"#
        let apns = try await RunningAPNs(script: script, streams: 100)
        let second = try await RunningAPNs(script: isSlow ? #"{"script":[{"do":{"silence":true}}]}"# : script)
        let healthy = Set((0..<users).filter { !part.has($0) })
        let awaited = isSlow && part == .server ? changes * healthy.count / users : changes
        let (begun, superseded, problems) = try await SocketThread.run(name: "faults") {
            let apps = part == .app ? apns.otherApp : ""
            let pipeline = try LivePipeline(
                transport: apns.transport(apps: apps, more: ", connections: 1") + "\n      second: "
                    + second.transport())
            let begun = Date().timeIntervalSince1970 * 1_000
            try pipeline.send(commands(part))
            try pipeline.waitFor("outcome", count: awaited)
            let superseded = try pipeline.outcomes().count { line in
                line.contains(#""outcome":"superseded""#) && line.contains(#""attempts":0"#)
                    && healthy.contains { line.contains(#""user":"_u\#($0)""#) }
            }
            return (begun, superseded, try pipeline.stop() + pipeline.problemsOfLogs())
        }
        try await apns.stop()
        try await second.stop()
        var observations = Observations(superseded: superseded, problems: problems)
        let tokens = Set(healthy.map(token))
        let requests = apns.accepted.filter { tokens.contains($0.token ?? "") && !$0.isRepeat }
        observations.outOfOrder = outOfOrder(requests)
        let times = requests.map(\.time).sorted()
        observations.delayOfNineTenths = Int(Double(try #require(times.dropFirst(times.count * 9 / 10).first)) - begun)
        return observations
    }

    private static func outOfOrder(_ requests: [RecordedRequest]) -> [String] {
        Dictionary(grouping: requests) { $0.token ?? "" }.filter { _, requests in
            let sent = requests.sorted { $0.stream < $1.stream }.compactMap { number(of: $0.body) }
            return sent != sent.sorted()
        }.keys.sorted()
    }

    /// The number of the note in a push, from `"rid":"n17"`.
    private static func number(of body: [UInt8]) -> Int? {
        let text = String(decoding: body, as: UTF8.self)
        return text.range(of: #""rid":"n"#).flatMap { Int(text[$0.upperBound...].prefix { $0.isNumber }) }
    }

    // MARK: Input

    private static func token(_ user: Int) -> String { String(format: "%04x", user + 1) }

    private static func commands(_ part: Part) -> [String] {
        let app = { part == .app && part.has($0) ? "Other" : "Notes" }
        let transport = { part == .server && part.has($0) ? "second" : "apns" }
        return (0..<users).map { device($0, app($0), transport($0)) }
            + (0..<users).map { subscription($0, app($0)) } + (0..<changes).map { note($0, app($0 % users)) }
    }

    private static func place(_ app: String) -> String {
        #""container":"iCloud.com.example.\#(app)","environment":"development""#
    }

    private static func device(_ user: Int, _ app: String, _ transport: String) -> String {
        #"{"type":"device.register",\#(place(app)),"user":"_u\#(user)","device":"phone","#
            + #""transport":"\#(transport)","token":"\#(token(user))","topic":"com.example.\#(app)"}"#
    }

    /// Every second subscription has a collapse ID.
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
    /// The settings of another app with the same key.
    fileprivate var otherApp: String {
        """
        , other: {container: iCloud.com.example.Other, topic: com.example.Other, team: TEAMLOCAL1, key: KEYLOCAL12, \
        keyFile: {$file: \(key)}}
        """
    }
}
