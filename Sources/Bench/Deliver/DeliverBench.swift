import Events
import Foundation
import PipelineKit
import PipelineRuntime
import TransportAPNs

/// Sends pushes to a server on this machine in three ways: through the APNs transport, through the deliver stage, and
/// with `h2load`.
struct DeliverBench: Sendable {
    let count: Int
    let interruption: Interruption

    /// The number of pushes in one call of the transport.
    private static let pushesPerCall = 1_000

    struct Result: Sendable {
        let connections: Int
        let streams: Int
        var h2load = 0.0
        var perSecond = 0.0
        /// Processor time of this process for each push.
        var cpuMicroseconds = 0.0
        /// Resident bytes of this process after a tenth of the pushes.
        var bytesAtFirstTenth = 0.0
        /// Resident bytes of this process after all pushes.
        var bytesAtEnd = 0.0
        var latency: Percentiles?
        var stage = DeliverStageBench.Result()

        var bytesGained: Double { bytesAtEnd - bytesAtFirstTenth }
        var ratio: Double { perSecond / h2load }
        var stageRatio: Double { stage.perSecond / h2load }
    }

    /// - Parameter measuresLatency: Whether to send pushes once more, at half the rate that the transport has reached,
    ///   and measure how long they take.
    func run(
        connections: Int, streams: Int, measuresLatency: Bool, in folder: String
    ) async throws -> Result {
        var result = Result(connections: connections, streams: streams)
        let server = try DeliverBenchServer(streams: streams, in: folder)
        let transport = try transport(to: server, connections)
        try await transport.open()
        let pushes = DeliverBenchPushes(count: Self.pushesPerCall)
        try await warm(transport, pushes)
        let load = DeliverBenchPushes.load(to: server, connections: connections, streams: streams, in: folder)
        result.h2load = try load.run(requests: count).perSecond
        try await send(transport, pushes, into: &result)
        if measuresLatency {
            let sender = SteadyRateSender(transport, perSecond: result.perSecond / 2, interruption)
            result.latency = Percentiles(try await sender.run(pushes))
        }
        await transport.close()
        result.stage = try await DeliverStageBench(
            transport: Self.settings(server, connections), count: count, folder: folder, interruption: interruption
        ).run()
        return result
    }

    /// The settings of the transport, as members of a YAML flow mapping.
    private static func settings(_ server: DeliverBenchServer, _ connections: Int) -> String {
        """
        host: localhost, port: \(server.port), trust: \(server.trustFile), connections: \(connections), apps: { bench: { \
        container: \(DeliverBenchPushes.app.container), topic: com.example.Bench, team: TEAMLOCAL1, \
        key: KEYLOCAL12, keyFile: { $file: \(server.keyFile) } } }
        """
    }

    private func transport(to server: DeliverBenchServer, _ connections: Int) throws -> any Transport {
        let settings = try SettingsReader(text: "{ \(Self.settings(server, connections)) }", file: "bench deliver")
        return try APNsTransport(
            try settings.decode(APNsSettings.self), context: TransportContext(name: "apns") { _ in })
    }

    private func warm(_ transport: any Transport, _ pushes: DeliverBenchPushes) async throws {
        for _ in 0..<3 { try check(await transport.deliver(pushes.all)) }
    }

    private func send(
        _ transport: any Transport, _ pushes: DeliverBenchPushes, into result: inout Result
    ) async throws {
        let calls = max(10, count / Self.pushesPerCall)
        let before = try ProcessUse.own()
        var tenth = before
        let began = ContinuousClock.now
        for number in 0..<calls {
            try check(await transport.deliver(pushes.all))
            if number + 1 == calls / 10 { tenth = try ProcessUse.own() }
        }
        let seconds = (ContinuousClock.now - began) / .seconds(1)
        let after = try ProcessUse.own()
        let sent = Double(calls * Self.pushesPerCall)
        result.perSecond = sent / seconds
        result.cpuMicroseconds = (after.seconds - before.seconds) / sent * 1e6
        result.bytesAtFirstTenth = Double(tenth.residentBytes)
        result.bytesAtEnd = Double(after.residentBytes)
    }

    private func check(_ answers: [TransportAnswer]) throws {
        try interruption.check()
        guard let other = answers.first(where: { $0.outcome != .accepted }) else { return }
        throw ToolFailure(
            .software, "the outcome of a push is \(other.outcome.rawValue): \(other.reason ?? "no reason")")
    }
}

/// The pushes of the bench: one for each device, all with the same payload.
struct DeliverBenchPushes: Sendable {
    static let app = Delivery.App(
        container: "iCloud.com.example.Bench", environment: "development", topic: "com.example.Bench")
    static let payload =
        #"{"aps":{"alert":{"title-loc-key":"CHANGED","body":"Something has changed in the shared list of things"},"badge":3,"sound":"default"},"#
        + #""ck":{"ce":2,"cid":"iCloud.com.example.Bench","nid":"b3837970-bcc6-8d7e-af56-077f72d43586","qry":{"af":{"stars":5,"#
        + #""title":"Groceries for the weekend"},"dbs":2,"fo":1,"rid":"note-17","sid":"notes","zid":"Notes","zoid":"_bob"}}}"#

    let all: [Delivery]

    init(count: Int) {
        let rest = Array(
            #","apns-push-type":"alert","apns-priority":"10"},"payload":\#(Self.payload),"\#(Member.causes)":[{"log":"changes","sequence":17}]}"#
                .utf8)
        all = (0..<count).map { number in
            Delivery(
                id: .init(push: UInt64(number), device: "d\(number)"), transport: "apns", app: Self.app,
                head: Self.head(number), rest: rest)
        }
    }

    private static func head(_ number: Int) -> [UInt8] {
        let digits = String(number, radix: 16)
        let id = "976ec45b-c157-8d46-a9cc-" + String(repeating: "0", count: 12 - digits.count) + digits
        return Array(
            """
            {"notificationID":"b3837970-bcc6-8d7e-af56-077f72d43586","\(Member.user)":"_bob","device":"d\(number)",\
            "transport":"apns","token":"\(DeliverBenchServer.token(number))","headers":{"apns-id":"\(id)",\
            "apns-topic":"com.example.Bench"
            """.utf8)
    }
}

extension DeliverBenchPushes {
    /// The requests of `h2load`, with the body of the pushes and headers of about the same size.
    static func load(to server: DeliverBenchServer, connections: Int, streams: Int, in folder: String) -> H2Load {
        H2Load(
            url: "https://localhost:\(server.port)/3/device/\(DeliverBenchServer.token(7))",
            headers: [
                "authorization: bearer " + String(repeating: "x", count: 230), "apns-topic: com.example.Bench",
                "apns-push-type: alert", "apns-priority: 10", "apns-id: 976ec45b-c157-8d46-a9cc-000000000000",
                "apns-collapse-id: 976ec45b-c157-8d46-a9cc-000000000000",
            ], body: payload, connections: connections, streams: streams, folder: folder)
    }
}
