import PipelineKit
import Synchronization
import Testing

@testable import TransportAPNs

@Suite struct StoppedAppsTests {
    /// The operator is told once while the reason stays the same, and once more when pushes are accepted.
    @Test func `the operator is told when an app is stopped, with the remedy, and when it resumes`() {
        let messages = Mutex<[String]>([])
        var context = TransportContext(name: "apns") { _ in }
        context.tell = { line in messages.withLock { $0.append(line) } }
        let stopped = StoppedApps(context)
        let pushes = (1...3).map(push)
        let refused = pushes.map { TransportAnswer($0.id, .stopped, status: 403, reason: "InvalidProviderToken") }
        stopped.note(refused, to: pushes)
        stopped.note(refused, to: pushes)
        #expect(messages.withLock { $0.count } == 1)
        #expect(
            messages.withLock { $0[0] }.contains(
                "notes production: every push is rejected: 403 InvalidProviderToken; compare key"))
        for _ in 1...2 { stopped.note([TransportAnswer(pushes[0].id, .accepted, status: 200)], to: pushes) }
        #expect(messages.withLock { $0.dropFirst() } == ["apns: notes production: pushes are accepted again"])
    }

    @Test func `the remedy for an app that the transport does not have is to add it`() async throws {
        try await APNsRig.with { rig in
            for (app, near) in [
                (Delivery.App(container: "iCloud.Mail", environment: "production", topic: "Mail"), nil),
                (
                    Delivery.App(container: APNsRig.app.container, environment: "production", topic: nil),
                    "notes has container \(APNsRig.app.container), environment development, topic com.example.Notes"
                ),
            ] {
                let answer = await rig.deliver(apnsPush(1, app: app))[0]
                let reason = [
                    "no app of this transport has container \(app.container), environment production"
                        + (app.topic.map { ", topic \($0)" } ?? ""), near,
                ].compactMap(\.self).joined(separator: "; ")
                #expect(answer == TransportAnswer(answer.id, .stopped, reason: reason, attempts: 0))
                let messages = Mutex<[String]>([])
                var context = TransportContext(name: "apns") { _ in }
                context.tell = { line in messages.withLock { $0.append(line) } }
                StoppedApps(context).note([answer], to: [apnsPush(1, app: app)])
                #expect(
                    messages.withLock {
                        $0.count == 1 && $0[0].contains("\(reason); add the app to the transport's apps")
                    })
            }
        }
    }

    private func push(_ number: Int) -> Delivery {
        Delivery(
            id: .init(push: UInt64(number), device: "phone"), transport: "apns",
            app: .init(container: "notes", environment: "production", topic: nil), head: [], rest: [])
    }
}
