import PipelineKit
import Synchronization
import Testing

@testable import TransportAPNs

@Suite struct StoppedAppsTests {
    /// Once for each app and reason, and once more when it is over.
    @Test func theOperatorIsToldOfAStoppedAppWithTheRemedyAndOfItsEnd() {
        let told = Mutex<[String]>([])
        var context = TransportContext(name: "apns") { _ in }
        context.tell = { line in told.withLock { $0.append(line) } }
        let stopped = StoppedApps(context)
        let pushes = (1...3).map(push)
        let refused = pushes.map { TransportAnswer($0.id, .stopped, status: 403, reason: "InvalidProviderToken") }
        stopped.note(refused, to: pushes)
        stopped.note(refused, to: pushes)
        #expect(told.withLock { $0.count } == 1)
        #expect(
            told.withLock { $0[0] }.contains(
                "notes production: nothing is taken: 403 InvalidProviderToken; compare key"))
        for _ in 1...2 { stopped.note([TransportAnswer(pushes[0].id, .accepted, status: 200)], to: pushes) }
        #expect(told.withLock { $0.dropFirst() } == ["apns: notes production: pushes are taken again"])
    }

    private func push(_ number: Int) -> Delivery {
        Delivery(
            id: .init(push: UInt64(number), device: "phone"), transport: "apns",
            app: .init(container: "notes", environment: "production", topic: nil), head: [], rest: [])
    }
}
