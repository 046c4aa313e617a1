import EventLog
import PipelineKit
import Synchronization
import TestSupport

@testable import TransportWebhook

/// A transport that posts to a test's server and writes its waits down instead of waiting.
struct Rig {
    let transport: WebhookTransport
    private let waits = Waits()

    init(_ server: TestServer, _ settings: String = "attempts: 3\nbackoff: 100ms") async throws {
        try await self.init(url: server.url, settings)
    }

    init(url: String, _ settings: String) async throws {
        self.init(try webhookSettings("url: \(url)\nprivateNetworks: allow\n\(settings)"))
        try await transport.open()
    }

    init(_ settings: WebhookSettings, now: Instant = Instant(microseconds: 1_795_000_000_999_999)) {
        let waits = waits
        // Each wait takes a second.
        transport = WebhookTransport(
            settings, now: { now.advanced(by: .seconds(waits.all.count)) }, pause: { waits.append($0) })
    }

    var pauses: [Duration] { waits.all }

    func deliver(_ pushes: Delivery...) async -> [TransportAnswer] { await deliver(pushes) }

    func deliver(_ pushes: [Delivery]) async -> [TransportAnswer] {
        let answers = await transport.deliver(pushes)
        return answers.sorted { ($0.id.push, $0.id.device) < ($1.id.push, $1.id.device) }
    }
}

private final class Waits: Sendable {
    private let state = Mutex<[Duration]>([])
    var all: [Duration] { state.withLock { $0 } }
    func append(_ wait: Duration) { state.withLock { $0.append(wait) } }
}

func webhookSettings(_ text: String) throws -> WebhookSettings {
    try SettingsReader(text: text, file: "p.yaml").decode(WebhookSettings.self)
}

func push(_ sequence: UInt64, to device: String = "mac", of user: String = "_alice") -> Delivery {
    let line =
        #"{"notificationID":"n","user":"\#(user)","device":"\#(device)","transport":"hook","token":"t","#
        + #""headers":{"apns-id":"id-\#(sequence)\#(user)-\#(device)","apns-push-type":"alert"},"payload":{},"causes":[]}"#
    return Delivery(id: .init(push: sequence, device: device), transport: "hook", line: Array(line.utf8))
}
