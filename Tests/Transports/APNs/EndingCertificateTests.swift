import Foundation
import LocalAPNs
import PipelineKit
import Synchronization
import Testing

@testable import TransportAPNs

@Suite(.timeLimit(.minutes(5))) struct EndingCertificates {
    /// - Parameter daysLeft: The client certificate expires this number of days and half a day from now.
    private static func with(daysLeft: Int, _ body: (APNsRig, APNsSettings) async throws -> Void) async throws {
        try await APNsRig.with("certificate") { rig in
            var configuration = LocalAPNs.Configuration()
            configuration.folder = rig.folder
            try FileManager.default.removeItem(atPath: "\(rig.folder)/client.pem")
            // Client certificates last for 396 days.
            _ = try Credentials(configuration, now: Date().addingTimeInterval((Double(daysLeft) + 0.5 - 396) * 86_400))
            let text = APNsRig.settings(to: rig.apns.port, in: rig.folder, "certificate")
            try await body(rig, try SettingsReader(text: text, file: "p.yaml").decode(APNsSettings.self))
        }
    }

    @Test func `a certificate is reported from thirty days before its end, and after its end`() async throws {
        try await Self.with(daysLeft: 40) { rig, settings in
            let path = "\(rig.folder)/client.pem"
            #expect(settings.endingCertificates(at: .wall()).isEmpty)
            let end = try #require(
                settings.endingCertificates(at: .wall().advanced(by: .seconds(39 * 86_400))).first?.end)
            func said(before: Duration) -> [String] {
                settings.endingCertificates(at: end.advanced(by: .zero - before)).map(\.text)
            }
            #expect(said(before: .seconds(30 * 86_400)) == [])
            #expect(
                said(before: .seconds(30 * 86_400 - 1))
                    == ["the certificate \(path) expires on \(end), in 29 days"])
            #expect(said(before: .seconds(90_000)) == ["the certificate \(path) expires on \(end), in 1 day"])
            #expect(
                said(before: .zero) == ["the certificate \(path) expired on \(end): APNs rejects every push of notes"])
            #expect(said(before: .seconds(1)) == ["the certificate \(path) expires on \(end), in less than a day"])
            try FileManager.default.removeItem(atPath: path)
            #expect(said(before: .zero) == [], "opening the transport reports a missing file")
        }
    }

    @Test func `the operator is told of an ending certificate when the transport opens, then daily`() async throws {
        try await Self.with(daysLeft: 12) { rig, _ in
            let messages = Mutex<[String]>([])
            var context = TransportContext(name: "apns") { _ in }
            context.tell = { line in messages.withLock { $0.append(line) } }
            let transport = try APNsRig.transport(
                to: rig.apns.port, in: rig.folder, "certificate", clock: rig.clock, context: context)
            try await transport.open()
            #expect(
                messages.withLock { $0.count == 1 && $0[0].hasPrefix("apns: notes: the certificate \(rig.folder)") })
            #expect(messages.withLock { $0.first?.hasSuffix("; \(APNsSettings.certificateRemedy)") == true })
            for hours in [0, 23, 1] {
                rig.clock.advance(by: .seconds(hours * 3_600))
                _ = await transport.deliver([apnsPush(UInt64(hours + 1))])
            }
            #expect(messages.withLock { $0.count } == 2)
            await transport.close()
        }
    }

    @Test func `the probe reports an expired certificate, and advises to renew it`() async throws {
        try await Self.with(daysLeft: -1) { _, settings in
            let found = try #require(
                try await APNsProbe(settings, context: TransportContext(name: "apns") { _ in }).run().first)
            #expect(found.verdict == .credential && found.certificate?.hasExpired == true)
            #expect(found.reason == "BadCertificate")
            #expect(found.remedy == APNsSettings.certificateRemedy)
            #expect(found.text.hasPrefix("APNs rejects the certificate "))
        }
    }

    @Test func `the probe accepts a certificate that expires soon, and gives the days that are left`() async throws {
        try await Self.with(daysLeft: 12) { _, settings in
            let found = try #require(
                try await APNsProbe(settings, context: TransportContext(name: "apns") { _ in }).run().first)
            #expect(found.verdict == .good && found.certificate?.days == 12 && found.certificate?.hasExpired == false)
            #expect(found.text == "certificate, topic, environment and clock are right")
        }
    }

    @Test func `the remedy for a rejected certificate does not mention keys`() throws {
        let remedy = try #require(APNsProbe.remedy(status: nil, reason: "BadCertificate"))
        #expect(remedy.contains("certificate") && !remedy.contains("key") && !remedy.contains(".p8"))
        #expect(APNsProbe.remedy(status: 403, reason: "InvalidProviderToken")?.contains(".p8") == true)
    }
}
