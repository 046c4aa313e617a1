import Foundation
import LocalAPNs
import NIOCore
import NIOPosix
import PipelineKit
import Synchronization
import Testing
import Time

@testable import TransportAPNs

/// A transport and the local APNs that it sends to. Their folder is removed after the test.
final class APNsRig: Sendable {
    let apns: LocalAPNs
    let transport: APNsTransport
    let folder: String
    let clock: TestClock
    let windowLength: TestWindowLength

    static let app = Delivery.App(
        container: "iCloud.com.example.Notes", environment: "development", topic: "com.example.Notes")

    private init(
        _ apns: LocalAPNs, _ transport: APNsTransport, _ folder: String, _ clock: TestClock,
        _ windowLength: TestWindowLength
    ) {
        (self.apns, self.transport, self.folder, self.clock) = (apns, transport, folder, clock)
        self.windowLength = windowLength
    }

    /// Calls the body with an open transport and a running APNs. Stops both afterwards, unless the body throws.
    ///
    /// - Parameters:
    ///   - settings: Further lines of YAML. If they contain the word `certificate`, the apps use a certificate instead
    ///     of a key, and the word is removed.
    ///   - streams: How many requests APNs allows at the same time on a connection whose client has authenticated.
    ///   - otherKeys: The IDs of further keys that this APNs accepts.
    ///   - otherTopics: The topics of further apps with the same key. The name of each app's container is its topic.
    static func with(
        _ settings: String = "", script: [String] = [], streams: Int = 1_000, otherKeys: [String] = [],
        otherTopics: [String] = [], dialing: Dialing = .soon, _ body: (APNsRig) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "apns-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var configuration = LocalAPNs.Configuration()
        configuration.port = 0
        configuration.folder = folder
        configuration.streams = streams
        for id in otherKeys {
            var other = configuration
            other.keyID = id
            let key = try Credentials(other).key.publicKey
            configuration.keys.append(.init(id: id, team: other.team, publicKey: key))
        }
        let apns = try await LocalAPNs.start(configuration)
        if !script.isEmpty { try await apns.control(#"{"script":[\#(script.joined(separator: ","))]}"#) }
        let (clock, windowLength) = (TestClock(), TestWindowLength())
        let transport = try transport(
            to: apns.port, in: folder, settings, otherTopics: otherTopics, clock: clock, windowLength: windowLength,
            dialing: dialing)
        try await transport.open()
        try await body(APNsRig(apns, transport, folder, clock, windowLength))
        await transport.close()
        try await apns.stop()
    }

    static func transport(
        to port: Int, in folder: String, _ settings: String = "", otherTopics: [String] = [],
        clock: TestClock = TestClock(), windowLength: TestWindowLength = TestWindowLength(),
        topic: String = "com.example.Notes", dialing: Dialing = .soon, context: TransportContext? = nil,
        resolver: @escaping @Sendable (any EventLoop) -> (any Resolver & Sendable)? = { _ in nil }
    ) throws -> APNsTransport {
        let text = Self.settings(to: port, in: folder, settings, topic: topic, otherTopics: otherTopics)
        let settings = try SettingsReader(text: text, file: "p.yaml").decode(APNsSettings.self)
        return APNsTransport(
            settings, context: context ?? TransportContext(name: "apns", folder: folder) { _ in },
            Surroundings(
                now: { clock.now }, jitter: { 0.5 }, windowLength: { windowLength.value }, dialing: dialing,
                resolver: resolver))
    }

    static func settings(
        to port: Int, in folder: String, _ settings: String = "", topic: String = "com.example.Notes",
        otherTopics: [String] = []
    ) -> String {
        let credential =
            settings.contains("certificate")
            ? "certificate: \(folder)/client.pem, certificateKey: { $file: \(folder)/client-key.pem }"
            : "team: TEAMLOCAL1, key: KEYLOCAL12, keyFile: { $file: \(folder)/AuthKey_KEYLOCAL12.p8 }"
        let others = otherTopics.enumerated().map {
            "\n  other\($0.offset): { container: \($0.element), topic: \($0.element), \(credential) }"
        }
        return """
            host: localhost
            port: \(port)
            trust: \(folder)/ca.pem
            \(settings.replacing("certificate", with: ""))
            apps:
              notes: { container: iCloud.com.example.Notes, topic: \(topic), \(credential) }\(others.joined())
            """
    }

    func deliver(_ pushes: Delivery...) async -> [TransportAnswer] { await deliver(pushes) }

    /// Passes pushes to the transport once. Returns their first answers, ordered by the pushes' numbers and devices.
    func deliver(_ pushes: [Delivery]) async -> [TransportAnswer] {
        await transport.deliver(pushes).sorted { ($0.id.push, $0.id.device) < ($1.id.push, $1.id.device) }
    }

    /// Passes pushes to the transport again and again, until each has its final answer.
    func deliverUntilFinal(_ pushes: [Delivery]) async -> [TransportAnswer] {
        var (open, settled) = (pushes, [TransportAnswer]())
        while !open.isEmpty, !Task.isCancelled {
            let answers = await deliver(open)
            settled += answers.filter { $0.outcome != .deferred }
            let deferred = Set(answers.filter { $0.outcome == .deferred }.map(\.id))
            open = open.filter { deferred.contains($0.id) }
        }
        return settled
    }

    /// Passes a push to the transport again and again, until it has its final answer.
    func deliverUntilFinal(_ push: Delivery) async -> TransportAnswer {
        var answer = await deliver(push)[0]
        while answer.outcome == .deferred, !Task.isCancelled { answer = await deliver(push)[0] }
        return answer
    }

    /// Sends a push, which opens the connection, and then gives the server a script. Because the connection is open
    /// after this call, a call of `deliver` writes its request even if it waits only briefly for the answer.
    func connect(thenBehave script: String) async throws {
        #expect(await deliverUntilFinal(apnsPush(9)).outcome == .accepted)
        try await apns.control(#"{"script":[\#(script)]}"#)
    }
}

extension Dialing {
    /// Retries so soon that a test can wait for it.
    static let soon = Dialing(firstWait: .milliseconds(10))
    /// Waits longer than any test before it retries. So every connection that a test sees was opened without a wait.
    static let never = Dialing(firstWait: .seconds(3_600), longestWait: .seconds(3_600))
}

extension Delivery.App {
    /// See ``APNsRig/with(_:script:streams:otherKeys:otherTopics:dialing:_:)``.
    static func other(_ topic: String) -> Delivery.App {
        Delivery.App(container: topic, environment: "development", topic: topic)
    }
}

/// A clock that starts at the machine's time, and moves only when a test advances it.
final class TestClock: Sendable {
    private let time = Mutex(Instant.wall())

    var now: Instant { time.withLock { $0 } }

    func advance(by duration: Duration) { time.withLock { $0 = $0.advanced(by: duration) } }
}

/// The length of a window: how long one call of `deliver` waits for answers. By default, it is longer than any test.
final class TestWindowLength: Sendable {
    private let state: Mutex<Duration>

    init(_ value: Duration = .seconds(3_600)) { state = Mutex(value) }

    var value: Duration {
        get { state.withLock(\.self) }
        set { state.withLock { $0 = newValue } }
    }
}

func apnsPush(
    _ sequence: UInt64, token: String = "00ff", collapse: String? = nil, expiration: String? = nil,
    type: String = "alert", body: String = #"{"aps":{"alert":"Hi"}}"#, app: Delivery.App = APNsRig.app
) -> Delivery {
    let id = String(format: "976ec45b-c157-8d46-a9cc-%012x", sequence)
    var headers = #""apns-id":"\#(id)","apns-topic":"\#(app.topic ?? "")","apns-push-type":"\#(type)""#
    headers += #","apns-priority":"\#(type == "background" ? 5 : 10)""#
    if let collapse { headers += #","apns-collapse-id":"\#(collapse)""# }
    if let expiration { headers += #","apns-expiration":"\#(expiration)""# }
    let head =
        #"{"notificationID":"n","user":"_bob","device":"phone","transport":"apns","token":"\#(token)","headers":{"#
    let rest = headers + #"},"payload":\#(body),"causes":[]}"#
    return Delivery(
        id: .init(push: sequence, device: "phone"), transport: "apns", app: app, head: Array(head.utf8),
        rest: Array(rest.utf8))
}
