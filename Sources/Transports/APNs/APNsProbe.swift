import NIOCore
import PipelineKit

/// Asks APNs whether it accepts an app's pushes, with a request that reaches no device.
///
/// The request has an invented device token, which APNs rejects after it has checked key, team, topic and environment.
/// So `BadDeviceToken` is the good answer.
package struct APNsProbe: Sendable {
    /// The result for one app.
    package struct Finding: Sendable {
        let appSettings: APNsApp
        /// The server that was asked.
        package let host: String
        /// The status of APNs' answer; nil if APNs did not answer.
        package let status: Int?
        /// APNs' reason, or why there was no answer.
        package let reason: String?
        package let verdict: Verdict
        package let duration: Duration
        /// The app's certificate, if it has expired or expires soon.
        package let certificate: EndingCertificate?

        /// The app's name in the pipeline file.
        package var app: String { appSettings.name }
    }

    package enum Verdict: String, Sendable, CaseIterable {
        /// Everything except the device token is right.
        case good
        /// The key, its ID or the team is wrong, the key or certificate was revoked, the certificate has expired, or
        /// this machine's clock is ahead.
        case credential
        /// The key or certificate is for the other environment.
        case environment
        /// The topic is wrong, or does not belong to the key or certificate.
        case topic
        /// This machine's clock is behind, or other senders make provider tokens of the same key too often. A server
        /// may also give this answer if the clock is ahead.
        case token
        /// APNs did not answer.
        case unreachable
        /// APNs has an error of its own, or gave a reason that says nothing about the app.
        case unclear
    }

    private let settings: APNsSettings
    private let context: TransportContext
    /// How long the probe waits for an answer: longer than a connection attempt may take.
    private static let answerWait = Duration.seconds(12)

    /// - Parameter context: The transport's context. The probe and the transport share the provider token in the
    ///   transport's folder, so that APNs does not count two tokens.
    package init(_ settings: APNsSettings, context: TransportContext) {
        (self.settings, self.context) = (settings, context)
    }

    /// Asks APNs about each app in turn.
    ///
    /// - Throws: ``TransportError`` if a key, a certificate, the file that `trust` names or the proxy's login cannot
    ///   be read or is not valid, or if a pool of connections cannot be started.
    package func run() async throws(TransportError) -> [Finding] {
        let transport = APNsTransport(
            settings, context: context,
            Surroundings(
                now: { .wall() }, jitter: { .random(in: 0...1) }, windowLength: { Self.answerWait }, failsFast: true))
        try await transport.open()
        var findings: [Finding] = []
        for route in transport.routes { findings.append(await ask(route)) }
        await transport.close()
        return findings
    }

    private func ask(_ route: APNsTransport.AppRoute) async -> Finding {
        let began = ContinuousClock.now
        let push = Self.push(route.app)
        let (answers, continuation) = AsyncStream.makeStream(of: [TransportAnswer].self)
        route.pool.run { $0.send([push]) { continuation.yield($0) } }
        let answer = await answers.first { _ in true }?.first
        let verdict = Self.verdict(status: answer?.status, reason: answer?.reason ?? "")
        return Finding(
            appSettings: route.app, host: settings.host(of: route.app.environment), status: answer?.status,
            reason: answer?.reason, verdict: verdict, duration: ContinuousClock.now - began,
            certificate: EndingCertificate(route.app, at: .wall()))
    }

    /// A push to a device token of one digit, which no device can have. The push is silent and never stored, in case a
    /// server accepts it all the same.
    private static func push(_ app: APNsApp) -> APNsPush {
        var fields: [UInt8] = []
        HPACK.append(path: "/3/device/0".utf8, to: &fields)
        let pathEnd = fields.count
        HPACK.append("apns-expiration", "0".utf8, to: &fields)
        let body = Array(#"{"aps":{"content-available":1}}"#.utf8)
        return APNsPush(
            Delivery(id: .init(push: 0, device: app.name), transport: "", head: [], rest: body),
            kind: .init(topic: app.topic, pushType: "background", priority: "5"), fields: fields, pathEnd: pathEnd,
            bodyRange: body.indices, orderKey: nil, expiration: nil)
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
