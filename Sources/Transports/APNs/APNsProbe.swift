import NIOCore
import PipelineKit

/// Asks APNs whether it would take an app's pushes, with a request that reaches nobody.
///
/// The request has an invented device token, which APNs refuses after it has checked key, team, topic and environment. So
/// `BadDeviceToken` is the good answer.
package struct APNsProbe: Sendable {
    /// What came of it for one app.
    package struct Finding: Sendable {
        let asked: APNsApp
        /// Where it was asked.
        package let host: String
        /// What APNs said; nil where it could not be reached.
        package let status: Int?
        /// APNs' reason, or why there was no answer.
        package let reason: String?
        package let verdict: Verdict
        package let took: Duration
        /// Where the app has one that is over or soon will be.
        package let certificate: EndingCertificate?

        /// The app's name in the pipeline file.
        package var app: String { asked.name }
    }

    package enum Verdict: String, Sendable, CaseIterable {
        /// Everything but the device token is right.
        case good
        /// The key, its ID or the team is wrong, or the key or certificate was revoked, or the certificate is over.
        case credential
        /// The key or certificate is for the other environment.
        case environment
        /// The topic is wrong, or not the key's.
        case topic
        /// This machine's clock is wrong, or other senders make tokens of the same key too often.
        case token
        /// No answer.
        case unreachable
        /// APNs is in trouble, or said something new.
        case unclear
    }

    private let settings: APNsSettings
    private let context: TransportContext
    /// Longer than a connection takes that does not come about.
    private static let patience = Duration.seconds(12)

    /// - Parameter context: With the folder where the transport keeps its token, so that the probe makes no second one.
    package init(_ settings: APNsSettings, context: TransportContext) {
        (self.settings, self.context) = (settings, context)
    }

    /// Asks for one app after the other.
    ///
    /// - Throws: ``TransportError`` where a key or certificate cannot be read.
    package func run() async throws(TransportError) -> [Finding] {
        let transport = APNsTransport(
            settings, context: context,
            Surroundings(
                now: { .wall() }, jitter: { .random(in: 0...1) }, patience: { Self.patience }, asksOnce: true))
        try await transport.open()
        var findings: [Finding] = []
        for line in transport.lines { findings.append(await ask(line)) }
        await transport.close()
        return findings
    }

    private func ask(_ line: APNsTransport.AppLine) async -> Finding {
        let began = ContinuousClock.now
        let push = Self.push(line.app)
        let (answers, continuation) = AsyncStream.makeStream(of: [TransportAnswer].self)
        line.pool.run { $0.take([push]) { continuation.yield($0) } }
        let answer = await answers.first { _ in true }?.first
        let verdict = Self.verdict(status: answer?.status, reason: answer?.reason ?? "")
        return Finding(
            asked: line.app, host: settings.host(of: line.app.environment), status: answer?.status,
            reason: answer?.reason, verdict: verdict, took: ContinuousClock.now - began,
            certificate: EndingCertificate(line.app, at: .wall()))
    }

    /// One digit is no token, so no device has it; priority 5 and no wish to be stored, should anybody take it.
    private static func push(_ app: APNsApp) -> APNsPush {
        var fields: [UInt8] = []
        HPACK.append(path: "/3/device/0".utf8, to: &fields)
        let pathEnd = fields.count
        HPACK.append("apns-expiration", "0".utf8, to: &fields)
        let body = Array(#"{"aps":{"content-available":1}}"#.utf8)
        return APNsPush(
            Delivery(id: .init(push: 0, device: app.name), transport: "", head: [], rest: body),
            kind: .init(topic: app.topic, pushType: "background", priority: "5"), fields: fields, pathEnd: pathEnd,
            bodyRange: body.indices, lane: nil, expiration: nil)
    }

    static func verdict(status: Int?, reason: String) -> Verdict {
        switch reason {
        case "BadDeviceToken", "DeviceTokenNotForTopic", "MissingDeviceToken", "Unregistered": return .good
        case "InvalidProviderToken", "MissingProviderToken", "BadCertificate", "Forbidden", "UnrelatedKeyIdInToken":
            return .credential
        case "BadCertificateEnvironment", "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken": return .environment
        case "BadTopic", "MissingTopic", "TopicDisallowed", "TopicMismatch": return .topic
        case "ExpiredProviderToken", "TooManyProviderTokenUpdates": return .token
        default: return status == nil ? .unreachable : status == 200 ? .good : .unclear
        }
    }
}
